import type { Locator, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { expectAccessible, isGone, isSeen, picture } from '../support/browser.ts'
import { composer, message, rowOf, usePlayground } from '../support/playground.ts'

const playground = usePlayground()
const wide = { width: 1440, height: 900 }
const phone = { width: 390, height: 844 }
let ana: Page
beforeAll(async () => {
  ana = await playground.open('?user=ana')
  await isSeen(message(ana, 'Ready when you are'))
})

test('without a mouse one makes a channel, writes in it, and gets at a message', async () => {
  const keys = async (...names: string[]) => {
    for (const name of names) await ana.keyboard.press(name)
  }
  const tabTo = async (target: Locator) => {
    for (let steps = 0; steps < 40; steps++) {
      if (
        (await target.count()) > 0 &&
        (await target.evaluate((element) => element === document.activeElement))
      )
        return
      await keys('Tab')
    }
    throw new Error(`Tab does not reach ${target}`)
  }
  await ana.reload()
  await isSeen(ana.getByText('Live', { exact: true }))
  await tabTo(ana.getByRole('button', { name: 'New channel' }))
  await keys('Enter')
  await tabTo(ana.getByRole('textbox', { name: 'Name' }))
  await ana.keyboard.type('Keys')
  await keys('Enter')
  await tabTo(composer(ana, 'Keys'))
  await ana.keyboard.type('First line')
  await keys('Shift+Enter')
  await ana.keyboard.type('second line')
  await keys('Enter')
  await isSeen(message(ana, 'second line'))
  await keys('Shift+Tab')
  expect(
    await message(ana, 'second line').evaluate((row) => row.contains(document.activeElement)),
  ).toBe(true)
  await tabTo(ana.getByRole('button', { name: 'React', exact: true }))
  await keys('Enter')
  await isSeen(ana.getByRole('button', { name: 'React with thumbs up' }).and(ana.locator(':focus')))
  await keys('ArrowRight', 'Enter')
  await isSeen(ana.getByRole('button', { name: '❤️, 1' }))
  await rowOf(ana, 'Keys').focus()
  await keys('ArrowDown', 'Enter')
  await isGone(composer(ana, 'Keys'))
})

test.each(['light', 'dark'] as const)(
  'in the %s, side by side and on a phone, nothing keeps people out',
  async (colorScheme) => {
    const page = await playground.open('', { viewport: wide, colorScheme })
    for (const name of ['ana', 'ben'])
      await isSeen(
        page.getByRole('region', { name: `Chat of ${name}` }).getByText('Live', { exact: true }),
      )
    await isSeen(page.getByRole('article'))
    await page
      .getByRole('region', { name: 'Chat of ana' })
      .getByRole('button', { name: /Welcome/ })
      .first()
      .click()
    await isSeen(message(page, 'Welcome to the playground'))
    await picture(page, `desktop-${colorScheme}`)
    await expectAccessible(page)
    await page.setViewportSize(phone)
    await isSeen(page.getByRole('button', { name: 'Ana', exact: true }))
    await picture(page, `phone-room-${colorScheme}`)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Back to channels' }).click()
    await picture(page, `phone-list-${colorScheme}`)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Ben', exact: true }).click()
    await isSeen(page.getByRole('heading', { name: 'Ben Okafor' }))
    await isGone(page.getByRole('heading', { name: 'Ana Sousa' }))
    await page.context().close()
  },
)

test.each(['light', 'dark'] as const)(
  'in the %s nothing keeps people out of dialogs, threads and pins',
  async (colorScheme) => {
    await ana.emulateMedia({ colorScheme })
    await ana.getByRole('button', { name: 'New channel' }).click()
    await isSeen(ana.getByRole('dialog').getByText('Cleo Martin'))
    await expectAccessible(ana)
    await ana.keyboard.press('Escape')
    await rowOf(ana, 'Launch week').click()
    await ana.getByRole('button', { name: '2 replies' }).click()
    await isSeen(message(ana.getByRole('complementary'), 'Good call'))
    await message(ana, 'Draft of').first().hover()
    await picture(ana, `thread-${colorScheme}`)
    await expectAccessible(ana)
    await rowOf(ana, 'Welcome').click()
    await ana.getByRole('button', { name: /^Pinned messages/ }).click()
    await isSeen(ana.getByRole('complementary').getByText('Point at a message'))
    await ana.getByRole('switch', { name: 'Offline' }).click()
    await isSeen(ana.getByText('Outbox 0'))
    await picture(ana, `pins-${colorScheme}`)
    await expectAccessible(ana)
    await ana.getByRole('switch', { name: 'Offline' }).click()
    await isSeen(ana.getByText('Live', { exact: true }))
  },
)
