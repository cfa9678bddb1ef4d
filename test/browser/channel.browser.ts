import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import {
  expectAccessible,
  expectHidden,
  expectVisible,
  resize,
  screenshot,
} from '../support/browser.ts'
import { composer, rowOf, usePlayground } from '../support/playground.ts'

const playground = usePlayground()
const phone = { width: 390, height: 844 }
beforeAll(() => playground.visit())
const detailsOf = (page: Page) => page.getByRole('complementary', { name: 'Details' })
const memberOf = (page: Page, name: string) =>
  detailsOf(page).getByRole('listitem').filter({ hasText: name })

/** A new channel of three, as Ana, who owns it, and Ben see it. */
async function openBoth(name: string) {
  const { channels } = playground.backend().as('ana')
  await channels.create({ type: 'private', name, memberIds: ['ben', 'cleo'] })
  const openAs = async (user: string) => {
    const page = await playground.openInTest(`?user=${user}`)
    await rowOf(page, name).click()
    await expectVisible(composer(page, name))
    return page
  }
  return Promise.all([openAs('ana'), openAs('ben')] as const)
}

async function showDetails(...pages: Page[]) {
  for (const page of pages) {
    await page.getByRole('button', { name: 'Channel details' }).click()
    await expectVisible(detailsOf(page).getByText('3 members'))
  }
}

test('an owner renames a channel for everyone, and members have no button for it', async () => {
  const [ana, ben] = await openBoth('Draft')
  await showDetails(ana, ben)
  expect(await detailsOf(ben).getByRole('button', { name: 'Edit' }).count()).toBe(0)
  await detailsOf(ana).getByRole('button', { name: 'Edit' }).click()
  const form = ana.getByRole('form', { name: 'Edit the channel' })
  await form.getByRole('textbox', { name: 'Name' }).fill('Launch day')
  await form.getByRole('textbox', { name: 'What it is about' }).fill('Tuesday at ten')
  await form.getByRole('button', { name: 'Save' }).click()
  await expectVisible(rowOf(ben, 'Launch day'))
  await expectVisible(detailsOf(ben).getByText('Tuesday at ten'))
})

test('roles are given, members removed and added', async () => {
  const [ana, ben] = await openBoth('Crew')
  await showDetails(ana, ben)
  await memberOf(ana, 'Ben').getByRole('combobox').selectOption('moderator')
  await expectVisible(detailsOf(ben).getByRole('button', { name: 'Edit' }))
  expect(
    await memberOf(ben, 'Ana')
      .getByRole('button', { name: /^Remove/ })
      .count(),
  ).toBe(0)
  await memberOf(ben, 'Cleo').getByRole('button', { name: 'Remove Cleo Martin' }).click()
  await expectVisible(detailsOf(ana).getByText('2 members'))
  await detailsOf(ana).getByRole('button', { name: 'Add people' }).click()
  await ana.getByRole('dialog').getByRole('button', { name: 'Add Cleo Martin' }).click()
  await ana.getByRole('dialog').getByRole('button', { name: 'Done' }).click()
  await expectVisible(detailsOf(ben).getByText('3 members'))
})

test("a user's stars and mutes are kept, and are their own", async () => {
  const [ana, ben] = await openBoth('Bakers')
  await showDetails(ana)
  for (const name of ['Starred', 'Muted'])
    await detailsOf(ana).getByRole('checkbox', { name }).check()
  for (const name of ['Bakers.*starred', 'Bakers.*muted']) await expectVisible(rowOf(ana, name))
  expect(await rowOf(ben, 'Bakers.*(starred|muted)').count()).toBe(0)
})

test.each(['light', 'dark'] as const)(
  'the %s details of a channel are accessible, also on a phone',
  async (colorScheme) => {
    const [ana] = await openBoth(`Painters of the ${colorScheme}`)
    await showDetails(ana)
    await ana.emulateMedia({ colorScheme })
    await screenshot(ana, `details-${colorScheme}`)
    await expectAccessible(ana)
    await resize(ana, phone)
    await screenshot(ana, `details-phone-${colorScheme}`)
  },
)

test('pictures and files are attached by address, and shown to others', async () => {
  const [ana, ben] = await openBoth('Gallery')
  for (const page of [ana, ben])
    await page
      .context()
      .route('https://pictures.test/**', (route) =>
        route.request().url().endsWith('cat.png')
          ? route.fulfill({ contentType: 'image/png', body: Buffer.from(PNG, 'base64') })
          : route.fulfill({ contentType: 'text/plain', body: 'no picture' }),
      )
  const attach = async (url: string, name: string) => {
    await ana.getByRole('button', { name: 'Attach a file' }).click()
    const dialog = ana.getByRole('dialog', { name: 'Attach a file' })
    await expect
      .poll(() => dialog.getByRole('button', { name: 'Attach', exact: true }).isEnabled())
      .toBe(false)
    await dialog.getByRole('textbox', { name: 'Address' }).fill(url)
    await dialog.getByRole('textbox', { name: 'Name' }).fill(name)
    await screenshot(ana, 'dialog-attach')
    await dialog.getByRole('button', { name: 'Attach', exact: true }).click()
  }
  await attach('https://pictures.test/cat.png', 'A cat')
  await attach('https://pictures.test/broken.jpg', 'Broken')
  await attach('http://plain.test/plan.pdf', '')
  await attach('https://pictures.test/mistake.png', 'Mistake')
  await ana.getByRole('button', { name: 'Remove Mistake' }).click()
  await screenshot(ana, 'attached')
  await composer(ana, 'Gallery').press('Enter')
  const received = ben.getByRole('list', { name: 'Attachments' }).last()
  await expectVisible(received.getByRole('link', { name: /plan.pdf/ }))
  await expectVisible(received.getByRole('img', { name: 'A cat' }))
  await expect.poll(() => received.getByRole('listitem').count()).toBe(3)
  // The broken picture is shown as an image until it fails to load.
  await expect.poll(() => received.getByRole('img').count()).toBe(1)
  await expectVisible(received.getByRole('link', { name: /Broken/ }))
  await expectVisible(rowOf(ben, '3 attachments'))
  await screenshot(ben, 'attachments')
  await expectAccessible(ben)
})

test('emojis are found by their names, and the last chosen comes first', async () => {
  const [ana] = await openBoth('Party')
  await ana.getByRole('button', { name: 'Insert emoji' }).click()
  await expectVisible(
    ana.getByRole('button', { name: 'Insert thumbs up' }).and(ana.locator(':focus')),
  )
  await ana.keyboard.type('no such thing')
  await expectVisible(ana.getByText('No emoji is called that'))
  await ana.getByRole('searchbox', { name: 'Search emojis' }).fill('cak')
  await screenshot(ana, 'emojis')
  await ana.keyboard.press('Enter')
  await expect.poll(() => composer(ana, 'Party').inputValue()).toBe('🍰')
  await ana.getByRole('button', { name: 'Insert emoji' }).click()
  await expectVisible(ana.getByRole('button', { name: 'Insert cake' }).and(ana.locator(':focus')))
  await ana.keyboard.press('Escape')
})

test('a text that is too long is counted, and kept rather than sent', async () => {
  const [ana] = await openBoth('Novel')
  const field = composer(ana, 'Novel')
  const widthOfField = async () => (await field.boundingBox())?.width
  const width = await widthOfField()
  await field.fill('a'.repeat(9_600))
  await expectVisible(ana.getByText('400 left'))
  expect(await widthOfField()).toBe(width)
  await field.fill('a'.repeat(10_003))
  await expectVisible(ana.getByText('3 too many'))
  await field.press('Enter')
  await expect.poll(() => ana.getByRole('button', { name: 'Send' }).isEnabled()).toBe(false)
  await expect.poll(() => field.inputValue()).toHaveLength(10_003)
})

test('on a phone the list is shown again once the open channel is left', async () => {
  const page = await playground.openInTest('?user=cleo', { viewport: phone })
  await leave(page, 'Word chain')
  await expectHidden(rowOf(page, 'Word chain'))
  await screenshot(page, 'left-phone')
  await rowOf(page, 'Welcome').click()
  await expectVisible(composer(page, 'Welcome'))
})

test('on a phone a channel that is joined again opens even if its record is late', async () => {
  const dora = playground.backend().as('dora')
  await dora.channels.create({ type: 'public', name: 'Lobby', memberIds: ['cleo'] })
  const page = await playground.openInTest('about:blank', { viewport: phone })
  /** The messages of the server that are held back; undefined while they are not. */
  let held: (() => void)[] | undefined
  await page.routeWebSocket(/.*/, (socket) => {
    socket.connectToServer().onMessage((text) => {
      if (held) held.push(() => socket.send(text))
      else socket.send(text)
    })
  })
  await page.goto(`${playground.url()}/?user=cleo`)
  await leave(page, 'Lobby')
  held = []
  await page.getByRole('button', { name: 'Browse channels' }).click()
  await page.getByRole('button', { name: 'Join Lobby' }).click()
  await expectHidden(page.getByRole('dialog'))
  await expectVisible(rowOf(page, 'Welcome'))
  const late = held
  held = undefined
  for (const deliver of late) deliver()
  await expectVisible(composer(page, 'Lobby'))
})

test('on a phone the list stays visible while a lost channel is loaded again', async () => {
  const dora = playground.backend().as('dora')
  await dora.channels.create({ type: 'public', name: 'Foyer', memberIds: ['cleo'] })
  const page = await playground.openInTest('about:blank', { viewport: phone })
  let drop = () => {}
  await page.routeWebSocket(/.*/, (socket) => {
    drop = () => void socket.close()
    socket
      .connectToServer()
      .onMessage((text) =>
        socket.send(String(text).replaceAll('"recovered":true', '"recovered":false')),
      )
  })
  await page.goto(`${playground.url()}/?user=cleo`)
  await leave(page, 'Foyer')
  const asked = page.waitForRequest(/\/api\/sync$/)
  await page.route(/\/api\/sync$/, () => {}) // it is not answered
  drop()
  await asked
  await expectVisible(rowOf(page, 'Welcome'))
})

test('a user leaves a channel, and an owner deletes it once they confirm', async () => {
  const [ana, ben] = await openBoth('Farewell')
  await ben.getByRole('button', { name: 'Channel details' }).click()
  await detailsOf(ben).getByRole('button', { name: 'Leave' }).click()
  await ben.getByRole('dialog').getByRole('button', { name: 'Leave' }).click()
  await expectHidden(rowOf(ben, 'Farewell'))
  await ana.getByRole('button', { name: 'Channel details' }).click()
  await detailsOf(ana).getByRole('button', { name: 'Delete channel' }).click()
  await ana.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await expectVisible(rowOf(ana, 'Farewell'))
  await detailsOf(ana).getByRole('button', { name: 'Delete channel' }).click()
  await ana.getByRole('dialog').getByRole('button', { name: 'Delete channel' }).click()
  await expectHidden(rowOf(ana, 'Farewell'))
})

/** Leaves a channel on a phone, which then shows the list. */
async function leave(page: Page, channel: string) {
  await rowOf(page, channel).click()
  await expectVisible(composer(page, channel))
  await page.getByRole('button', { name: 'Channel details' }).click()
  await detailsOf(page).getByRole('button', { name: 'Leave' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click()
  await expectVisible(rowOf(page, 'Welcome'))
}

/** A picture of one point. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
