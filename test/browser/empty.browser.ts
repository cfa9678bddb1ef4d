import { expect, test } from 'vitest'
import { expectVisible, resize, screenshot } from '../support/browser.ts'
import { message, usePlayground } from '../support/playground.ts'

const playground = usePlayground()

test('a user without channels sees what to do, and is not asked to choose one', async () => {
  await expectVisible(message(await playground.open('?user=ana'), 'Ready when you are'))
  const cleo = playground.backend().as('cleo')
  for (const { id: channelId } of (await cleo.channels.list()).channels)
    await cleo.members.leave({ channelId })
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await playground.open('?user=cleo', { colorScheme })
    await resize(page, { width: 1280, height: 800 })
    await expectVisible(page.getByText('No channels yet. Create one'))
    await expectVisible(page.getByText('Messages appear here once you are in a channel'))
    expect(await page.getByText('Choose a channel').count()).toBe(0)
    await screenshot(page, `empty-${colorScheme}`)
  }
})

test('a tip of the demo works on a touch screen: a tap shows the tools of a message', async () => {
  const page = await playground.open('?user=ben', {
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
  })
  await page.getByRole('button', { name: /^Welcome/ }).tap()
  const tips = message(page, 'Point at a message, or tap it')
  await expectVisible(tips)
  await tips.getByText('Point at a message').tap()
  await expectVisible(tips.getByRole('button', { name: 'Reply in thread' }))
})

test('the field for a message ends a name that is too long in an ellipsis', async () => {
  const name = `The room for ${'everything '.repeat(7)}else`
  const page = await playground.open('', { viewport: { width: 1280, height: 800 } })
  await expectVisible(page.getByText('Live', { exact: true }))
  const ana = playground.backend().as('ana')
  await ana.channels.create({ type: 'group', name, memberIds: ['ben'] })
  await page
    .getByRole('button', { name: /^The room for/ })
    .first()
    .click()
  const field = page.getByRole('textbox', { name: `Message ${name}` }).first()
  await expectVisible(field)
  await expect.poll(() => field.getAttribute('placeholder')).toBe(`Message ${name}`)
  await expect
    .poll(() => field.evaluate((element) => getComputedStyle(element).textOverflow))
    .toBe('ellipsis')
  await screenshot(page, 'long-placeholder')
})

test('on a phone the switch for the network has its label, also offline', async () => {
  const page = await playground.open('', { viewport: { width: 390, height: 844 } })
  const toggle = page.getByRole('switch', { name: 'Online' })
  for (const status of ['Live', 'Offline']) {
    await expectVisible(page.getByText(status, { exact: true }))
    await screenshot(page, `switch-phone-${status}`)
    const [size, hidden] = await page.evaluate(() => {
      const header = document.querySelector('.pane-header') ?? document.body
      const texts = ['.switch', '.connection-next'].map((part) => header.querySelector(part))
      const cut = texts.map((text) => (text ? text.scrollWidth - text.clientWidth : 0))
      return [texts[0] && getComputedStyle(texts[0]).fontSize, cut]
    })
    expect([Number.parseFloat(size ?? '') > 10, hidden]).toEqual([true, [0, 0]])
    await toggle.click()
  }
})
