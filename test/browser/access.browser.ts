import type { Locator, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import {
  expectAccessible,
  expectHidden,
  expectVisible,
  resize,
  screenshot,
  tabTo,
} from '../support/browser.ts'
import { composer, message, rowOf, say, usePlayground } from '../support/playground.ts'

const playground = usePlayground()
const wide = { width: 1440, height: 900 }
const phone = { width: 390, height: 844 }
let ana: Page
beforeAll(async () => {
  ana = await playground.open('?user=ana')
  await expectVisible(message(ana, 'Ready when you are'))
})

test('the keyboard alone suffices to create a channel, write and react to a message', async () => {
  const keys = async (...names: string[]) => {
    for (const name of names) await ana.keyboard.press(name)
  }
  await ana.reload()
  await expectVisible(ana.getByText('Live', { exact: true }))
  await tabTo(ana, ana.getByRole('button', { name: 'New channel' }))
  await keys('Enter')
  await expectVisible(ana.getByRole('textbox', { name: 'Name' }))
  await tabTo(ana, ana.getByRole('textbox', { name: 'Name' }))
  await ana.keyboard.type('Keys')
  await keys('Enter')
  await expectVisible(composer(ana, 'Keys'))
  await tabTo(ana, composer(ana, 'Keys'))
  await ana.keyboard.type('First line')
  await keys('Shift+Enter')
  await ana.keyboard.type('second line')
  await keys('Enter')
  // The tools appear only once the message is sent.
  await expectVisible(message(ana, 'second line').and(ana.locator('[data-status=sent]')))
  await keys('Shift+Tab')
  await expect
    .poll(() => message(ana, 'second line').evaluate((row) => row.contains(document.activeElement)))
    .toBe(true)
  await tabTo(ana, ana.getByRole('button', { name: 'React', exact: true }))
  await keys('Enter')
  await expectVisible(
    ana.getByRole('button', { name: 'React with thumbs up' }).and(ana.locator(':focus')),
  )
  await keys('ArrowRight', 'Enter')
  await expectVisible(ana.getByRole('button', { name: '❤️, 1' }))
  await rowOf(ana, 'Keys').focus()
  await keys('ArrowDown', 'Enter')
  await expectHidden(composer(ana, 'Keys'))
})

test.each(['light', 'dark'] as const)(
  'the %s page is accessible, with two panes and on a phone',
  async (colorScheme) => {
    const page = await playground.open('', { viewport: wide, colorScheme })
    const paneOf = (name: string) => page.getByRole('region', { name: `Chat of ${name}` })
    for (const name of ['ana', 'ben'])
      await expectVisible(paneOf(name).getByText('Live', { exact: true }))
    await expectVisible(page.getByRole('article'))
    const welcome = paneOf('ana').getByRole('button', { name: /Welcome/ })
    await welcome.first().click()
    await expectVisible(message(page, 'Welcome to the playground'))
    await screenshot(page, `desktop-${colorScheme}`)
    await expectAccessible(page)
    await resize(page, phone)
    await expectVisible(page.getByRole('button', { name: 'Ana', exact: true }))
    await screenshot(page, `phone-room-${colorScheme}`)
    const width = await page.evaluate(() => document.documentElement.scrollWidth)
    expect(width).toBe(phone.width)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Back to channels' }).click()
    await screenshot(page, `phone-list-${colorScheme}`)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Ben', exact: true }).click()
    await expectVisible(page.getByRole('heading', { name: 'Ben Okafor' }))
    await expectHidden(page.getByRole('heading', { name: 'Ana Sousa' }))
    await page.context().close()
  },
)

test.each(['light', 'dark'] as const)(
  '%s dialogs, threads and pins are accessible',
  async (colorScheme) => {
    await ana.emulateMedia({ colorScheme })
    await ana.getByRole('button', { name: 'New channel' }).click()
    await expectVisible(ana.getByRole('dialog').getByText('Cleo Martin'))
    await expectAccessible(ana)
    await ana.keyboard.press('Escape')
    await rowOf(ana, 'Launch week').click()
    await ana.getByRole('button', { name: '2 replies' }).click()
    await expectVisible(message(ana.getByRole('complementary'), 'Good call'))
    await message(ana, 'Draft of').first().hover()
    await screenshot(ana, `thread-${colorScheme}`)
    await expectAccessible(ana)
    await rowOf(ana, 'Welcome').click()
    await ana.getByRole('button', { name: /^Pinned messages/ }).click()
    await expectVisible(ana.getByRole('complementary').getByText('Point at a message'))
    await ana.getByRole('switch', { name: 'Online' }).click()
    await expectVisible(ana.getByText('Outbox 0'))
    await screenshot(ana, `pins-${colorScheme}`)
    await expectAccessible(ana)
    await ana.getByRole('switch', { name: 'Online' }).click()
    await expectVisible(ana.getByText('Live', { exact: true }))
  },
)

/** A word that fills more than one line. */
const LONG = 'm'.repeat(300)

test.each([
  ['wide', { width: 1100, height: 760 }, 'Then take Ben offline'],
  ['narrow', phone, 'Then take Ben offline'],
  // The tools of one's own messages are more, and beside the text where there is room.
  ['very wide', wide, LONG],
])('on a %s screen the tools of a message cover none of its text', async (name, size, text) => {
  const page = await playground.open('?user=ben', { viewport: size })
  await rowOf(page, 'Welcome').click()
  if (text === LONG) await say(page, LONG, 'Message Welcome')
  // Nothing may move after this: the tools are those of the message below the pointer.
  await expectVisible(page.getByText(/^Sent$|^Seen by /))
  const row = message(page, text).and(page.locator('[data-status=sent]'))
  expect(await overlapsOfTools(row)).toEqual({ own: 0, all: expect.any(Number) })
  await screenshot(page, `tools-${name}`)
  await page.context().close()
})

test('the tools of a message that begins with its author cover and dim no text', async () => {
  const page = await playground.open('', { viewport: wide })
  const ben = page.getByRole('region', { name: 'Chat of ben' })
  await expectVisible(ben.getByText(/^Sent$|^Seen by /))
  for (const text of ['Welcome to the playground', 'Ready when you are'])
    expect([text, await overlapsOfTools(message(ben, text))]).toEqual([text, { own: 0, all: 0 }])
  const shadow = await ben
    .getByRole('toolbar', { name: 'Message' })
    .evaluate((tools) => getComputedStyle(tools).boxShadow)
  expect(Math.max(...(shadow.match(/\d+(?=px)/g) ?? []).map(Number))).toBeLessThanOrEqual(2)
  await screenshot(page, 'tools-beside-author')
  await page.context().close()
})

/** How many lines of text the tools of a message cover: of its own, and of all that is shown. */
async function overlapsOfTools(row: Locator) {
  await row.hover()
  await expectVisible(row.getByRole('toolbar', { name: 'Message' }))
  return row.evaluate((element) => {
    const box = element.querySelector('[role=toolbar]')?.getBoundingClientRect() ?? new DOMRect()
    const coveredOf = (text: Element) => {
      const range = document.createRange()
      range.selectNodeContents(text)
      return [...range.getClientRects()].filter(
        ({ right, top, bottom }) =>
          right > box.left && top < box.bottom - 1 && bottom > box.top + 1,
      ).length
    }
    const coveredIn = (part: Element | null) =>
      [...(part?.querySelectorAll('.message-text') ?? [])]
        .map(coveredOf)
        .reduce((sum, count) => sum + count, 0)
    return { own: coveredIn(element), all: coveredIn(element.closest('[role=log]')) }
  })
}

test('on a touch screen one tap opens a channel, and the replies to a message', async () => {
  const page = await playground.open('?user=ben', {
    viewport: phone,
    hasTouch: true,
    isMobile: true,
  })
  // The channel is already open but hidden: its field was measured while it had no size.
  await rowOf(page, 'Welcome').tap()
  const heightOf = (field: HTMLElement) => field.offsetHeight
  await expect.poll(() => composer(page, 'Welcome').evaluate(heightOf)).toBeGreaterThanOrEqual(30)
  await composer(page, 'Welcome').fill('One\nTwo\nThree')
  await expect.poll(() => composer(page, 'Welcome').evaluate(heightOf)).toBeGreaterThanOrEqual(60)
  await page.getByRole('button', { name: 'Back to channels' }).tap()
  await rowOf(page, 'Launch week').tap()
  await page.getByRole('button', { name: '2 replies' }).tap()
  await expectVisible(message(page.getByRole('complementary'), 'Good call'))
  await page.getByRole('button', { name: 'Close thread' }).tap()
  await expectHidden(message(page, 'Good call'))
  // Not on a mention, which opens a profile.
  await message(page, 'Draft of')
    .locator('.message-text')
    .tap({ position: { x: 9, y: 9 } })
  await expectVisible(message(page, 'Draft of').getByRole('toolbar', { name: 'Message' }))
  await page.context().close()
})

test('on a touch screen a tap works although it closes the tools of another message', async () => {
  const page = await playground.open('?user=ben', {
    viewport: phone,
    hasTouch: true,
    isMobile: true,
  })
  await rowOf(page, 'Welcome').tap()
  await message(page, 'Ready when you are').getByText('Ready when').tap()
  const tools = message(page, 'Ready when you are').getByRole('toolbar', { name: 'Message' })
  await expectVisible(tools)
  const reaction = message(page, 'Welcome to the playground').getByRole('button', { name: '👋' })
  const before = await reaction.getAttribute('aria-pressed')
  await reaction.tap()
  await expect.poll(() => reaction.getAttribute('aria-pressed')).not.toBe(before)
  await expectHidden(tools)
  await page.context().close()
})

test('a question mark shows the keyboard shortcuts, except while typing', async () => {
  const page = await playground.open('?user=ben')
  await expectVisible(page.getByText('Live', { exact: true }))
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await composer(page, 'Welcome').press('?')
  await expect.poll(() => composer(page, 'Welcome').inputValue()).toBe('?')
  expect(await dialog.count()).toBe(0)
  await composer(page, 'Welcome').fill('')
  await rowOf(page, 'Welcome').press('?')
  await expectVisible(dialog.getByText('Send the message'))
  await screenshot(page, 'shortcuts')
  await expectAccessible(page)
  await page.keyboard.press('Escape')
  await expectHidden(dialog)
  await page.context().close()
})

test('an action without a network is refused in plain words, without a code', async () => {
  const page = await playground.open('?user=ben')
  await expectVisible(page.getByText(/^Sent$|^Seen by /))
  await expectVisible(page.getByText('Live', { exact: true }))
  await page.getByRole('switch', { name: 'Online' }).click()
  await expectVisible(page.getByText('Outbox 0'))
  await page.getByRole('button', { name: 'New channel' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('Without a network')
  await page.keyboard.press('Enter')
  await expectVisible(page.getByText('Try again when you are back online'))
  expect(await page.getByText('NETWORK_ERROR').count()).toBe(0)
  await page.context().close()
})
