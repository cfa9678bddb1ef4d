import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectOnce } from '@parley/server/db/client'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, inject, test, vi } from 'vitest'
import { expectAccessible, isGone, isSeen, launchChromium, openPage, type Problems, picture } from '../support/browser.ts'
import { page as pageOf, servePages } from '../support/pages.ts'
import { databaseUrl } from '../support/postgres.ts'
import { children, start } from '../support/start.ts'

const problems: Problems = []
const wide = { width: 1440, height: 900 }
const phone = { width: 390, height: 844 }
let web: Awaited<ReturnType<typeof servePages>>
let browser: Browser
let url: string
let ana: Page
let ben: Page
let stop: () => Promise<unknown>

beforeAll(async () => {
  web = await servePages({ '/soup': pageOf('<title>Soup of the day</title><meta name="description" content="Pumpkin, with ginger">') })
  const directory = mkdtempSync(join(tmpdir(), 'parley-browser-'))
  const name = `parley_browser_${process.pid}`
  const admin = connectOnce(inject('databaseUrl'))
  await admin.unsafe(`create database ${name} template ${inject('template')}`)
  const variables = {
    DATABASE_URL: databaseUrl(inject('databaseUrl'), name),
    RATE_LIMIT_MESSAGES: '0',
    PRESENCE_GRACE_SECONDS: '0',
    LINK_PREVIEW_ALLOW_HOSTS: web.host,
  }
  const server = start({ ...variables, HOST: '127.0.0.1', DATA_DIR: directory }, directory)
  children.splice(0) // this one outlives the first test
  url = await server.value('Playground')
  browser = await launchChromium()
  stop = async () => {
    await browser.close()
    server.kill('SIGTERM')
    await server.code
    await admin.unsafe(`drop database ${name} with (force)`)
    await admin.end()
    rmSync(directory, { recursive: true })
  }
}, 60_000)
afterAll(async () => {
  await stop()
  await web.stop()
})
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') for (const [name, page] of Object.entries({ ana, ben })) if (page) await picture(page, `when-it-failed-${name}`)
  expect(problems.splice(0)).toEqual([])
})

const open = (path: string, options = {}) => openPage(browser, { problems, ...options }).then(async (page) => [page, await page.goto(url + path)] as const)
const rowOf = (page: Page, channel: string) => page.getByRole('navigation', { name: 'Channels' }).getByRole('button', { name: new RegExp(channel) })
const message = (page: Page | Locator, text: string) => page.getByRole('article').filter({ hasText: text })
const composer = (page: Page, channel = 'Kitchen') => page.getByRole('textbox', { name: `Message ${channel}` })
const texts = async (page: Page, pattern: RegExp) =>
  (await page.getByRole('log').getByRole('article').allInnerTexts()).flatMap((text) => pattern.exec(text)?.[0] ?? [])
async function say(page: Page, text: string) {
  await composer(page).fill(text)
  await composer(page).press('Enter')
}
/** Uses a tool of a message. */
async function use(article: Locator, tool: string) {
  await article.hover()
  await article.getByRole('button', { name: tool, exact: true }).click()
}

test('a first visit finds a demo to look at; two at once make one', async () => {
  ;[[ana], [ben]] = await Promise.all([open('?user=ana'), open('?user=ben')])
  for (const page of [ana, ben]) {
    await isSeen(page.getByText('Live', { exact: true }))
    await isSeen(message(page, 'Ready when you are'))
    expect(await page.getByRole('navigation', { name: 'Channels' }).getByRole('listitem').count()).toBe(4)
    expect(await page.getByRole('log').getByRole('article').count()).toBe(4)
  }
})

test('Ana makes a channel and invites Ben', async () => {
  await ana.getByRole('button', { name: 'New channel' }).click()
  const making = ana.getByRole('dialog', { name: 'New channel for Ana' })
  await making.getByRole('textbox', { name: 'Name' }).fill('Kitchen')
  await picture(ana, 'dialog-create')
  await making.getByRole('button', { name: 'Create channel' }).click()
  await isSeen(ana.getByText('Nothing here yet'))
  await ana.getByRole('button', { name: 'Invite people' }).click()
  const inviting = ana.getByRole('dialog', { name: 'Invite to Kitchen' })
  await inviting.getByRole('button', { name: 'Add Ben Okafor' }).click()
  await isSeen(inviting.getByText('Member'))
  await picture(ana, 'dialog-invite')
  await inviting.getByRole('button', { name: 'Done' }).click()
  await isSeen(rowOf(ben, 'Kitchen'))
})

test('what Ana writes is unread for Ben until he looks, and she sees that he has', async () => {
  const total = ben.getByRole('status', { name: /unread messages? in all/ })
  const before = (await total.count()) === 0 ? 'none' : await total.innerText()
  await say(ana, 'Soup or salad?')
  await isSeen(message(ana, 'Soup or salad?'))
  await isSeen(ana.getByText('Sent', { exact: true }))
  await isSeen(rowOf(ben, 'Kitchen.*1 unread message$'))
  await picture(ben, 'unread')
  await rowOf(ben, 'Kitchen').click()
  await isSeen(message(ben, 'Soup or salad?'))
  await isGone(rowOf(ben, 'Kitchen.*unread'))
  await isSeen(ana.getByText('Seen by Ben'))
  expect((await total.count()) === 0 ? 'none' : await total.innerText()).toBe(before)
})

test('Ben sees Ana typing, until she has sent', async () => {
  await composer(ana).pressSequentially('Say')
  await isSeen(ben.getByText('Ana is typing…'))
  await picture(ben, 'typing')
  await composer(ana).fill('Say something')
  await composer(ana).press('Enter')
  await isSeen(message(ben, 'Say something'))
  await isGone(ben.getByText('Ana is typing…'))
})

test('a mention is offered while it is typed, and shown to whom it means', async () => {
  await composer(ana).pressSequentially('Soup then, @be')
  await isSeen(ana.getByRole('option', { name: /Ben Okafor/ }))
  await picture(ana, 'mentions')
  await composer(ana).press('Enter')
  expect(await composer(ana).inputValue()).toBe('Soup then, @ben ')
  await composer(ana).press('Enter')
  await isSeen(message(ben, 'Soup then, @Ben'))
  expect(await message(ben, 'Soup then').getAttribute('data-mentions-me')).toBe('true')
  expect(await message(ana, 'Soup then').getAttribute('data-mentions-me')).toBe('false')
})

test('Ben replies in a thread; Ana opens it from the message', async () => {
  await use(message(ben, 'Soup or salad?'), 'Reply in thread')
  await ben.getByRole('textbox', { name: 'Reply' }).fill('Soup, always')
  await ben.getByRole('textbox', { name: 'Reply' }).press('Enter')
  await message(ana, 'Soup or salad?').getByRole('button', { name: '1 reply' }).click()
  const thread = ana.getByRole('complementary', { name: 'Thread' })
  await isSeen(message(thread, 'Soup, always'))
  await picture(ana, 'thread')
  await ana.keyboard.press('Escape')
  await isGone(thread)
  await isSeen(ana.getByRole('button', { name: '1 reply' }).and(ana.locator(':focus')))
  await ben.getByRole('button', { name: 'Close thread' }).click()
})

test('a reaction is counted for both, is own for one, and can be taken back', async () => {
  await use(message(ben, 'Soup or salad?').first(), 'React')
  await picture(ben, 'emojis')
  await ben.getByRole('button', { name: 'React with noodles' }).click()
  const chip = (page: Page) => message(page, 'Soup or salad?').getByRole('button', { name: /^🍜/ })
  await isSeen(chip(ana))
  expect([await chip(ana).getAttribute('aria-pressed'), await chip(ben).getAttribute('aria-pressed')]).toEqual(['false', 'true'])
  await chip(ana).click()
  await isSeen(message(ben, 'Soup or salad?').getByRole('button', { name: '🍜, 2' }))
  await chip(ana).click()
  await isSeen(message(ben, 'Soup or salad?').getByRole('button', { name: '🍜, 1' }))
})

test('what is pinned is found among the pinned messages, until it is unpinned', async () => {
  await use(message(ana, 'Soup then'), 'Pin')
  await ben.getByRole('button', { name: 'Pinned messages: 1' }).click()
  const pins = ben.getByRole('complementary', { name: 'Pinned messages' })
  await isSeen(pins.getByText('Soup then'))
  await picture(ben, 'pins')
  await pins.getByRole('button', { name: 'Unpin' }).click()
  await isSeen(pins.getByText('Nothing is pinned'))
  await isSeen(ana.getByRole('button', { name: 'Pinned messages: 0' }))
  await pins.getByRole('button', { name: 'Close pinned messages' }).click()
})

test('edits and deletions reach the other side', async () => {
  await use(message(ana, 'Say something'), 'Edit')
  await ana.getByRole('textbox', { name: 'Edit message' }).fill('Say anything')
  await ana.getByRole('textbox', { name: 'Edit message' }).press('Enter')
  await isSeen(message(ben, 'Say anything (edited)'))
  await use(message(ana, 'Say anything'), 'Delete')
  await ana.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await isGone(message(ben, 'Say anything'))
})

test('a link gets a card with what it leads to', async () => {
  await say(ana, `Today: ${web.url}/soup`)
  await isSeen(ben.getByRole('link', { name: /Soup of the day/ }))
  await picture(ben, 'preview')
})

test('who closes the page is offline to the others, until he is back', async () => {
  const face = ana.getByRole('list', { name: 'Members' })
  await isSeen(face.getByRole('img', { name: 'Ben Okafor, online' }))
  await ben.goto('about:blank')
  await isSeen(face.getByRole('img', { name: 'Ben Okafor, offline' }))
  await ben.goto(`${url}?user=ben`)
  await isSeen(face.getByRole('img', { name: 'Ben Okafor, online' }))
  await rowOf(ben, 'Kitchen').click()
})

test('scrolling up loads earlier messages and stays where it was; the way back is offered', async () => {
  await rowOf(ana, 'Word chain').click()
  await isSeen(message(ana, 'ember'))
  const log = ana.getByRole('log')
  expect(await message(ana, 'apple').count()).toBe(0)
  const places = await log.evaluate(async (box) => {
    const rows = () => [...box.querySelectorAll('article')]
    const [first] = rows()
    box.scrollTop = 0
    const before = (first as Element).getBoundingClientRect().top
    while (rows()[0] === first) await new Promise(requestAnimationFrame)
    await new Promise(requestAnimationFrame)
    await new Promise(requestAnimationFrame)
    return { before, after: (first as Element).getBoundingClientRect().top }
  })
  expect(Math.abs(places.after - places.before)).toBeLessThan(2)
  await log.evaluate((box) => box.scrollTo(0, 0))
  await isSeen(message(ana, 'apple'))
  await picture(ana, 'paging')
  await ana.getByRole('button', { name: 'Latest' }).click()
  await vi.waitFor(async () => expect(await message(ana, 'ember').evaluate((row) => row.getBoundingClientRect().bottom < innerHeight)).toBe(true))
  await rowOf(ana, 'Kitchen').click()
})

test('what is written offline waits in the outbox, and goes out in order', async () => {
  await ana.getByRole('switch', { name: 'Offline' }).click()
  await isSeen(ana.getByText(/next try in \d+ s/))
  for (const text of ['One cup', 'Two cups', 'Three cups']) await say(ana, text)
  await isSeen(ana.getByText('Outbox 3'))
  await ana.getByText('Outbox 3').click()
  expect(await ana.getByRole('list', { name: 'Outbox' }).getByRole('listitem').count()).toBe(3)
  expect(await message(ana, 'Two cups').getAttribute('data-status')).toBe('pending')
  expect(await message(ben, 'One cup').count()).toBe(0)
  await picture(ana, 'offline')
  await say(ben, 'Where is she?')
  await ana.getByRole('switch', { name: 'Offline' }).click()
  await isSeen(ana.getByText('Live', { exact: true }))
  await isSeen(message(ana, 'Where is she?'))
  await isSeen(message(ben, 'Three cups'))
  expect(await texts(ben, /\w+ cups?$/m)).toEqual(['One cup', 'Two cups', 'Three cups'])
  await isGone(ana.getByText(/^Outbox/))
})

test('what waits survives a reload, and is stored once', async () => {
  await ana.getByRole('switch', { name: 'Offline' }).click()
  await say(ana, 'Four cups')
  await isSeen(ana.getByText('Outbox 1'))
  await ana.reload()
  await isSeen(message(ben, 'Four cups'))
  await rowOf(ana, 'Kitchen').click()
  await isSeen(message(ana, 'Four cups').and(ana.locator('[data-status=sent]')))
  for (const page of [ana, ben]) expect(await texts(page, /\w+ cups?$/m)).toEqual(['One cup', 'Two cups', 'Three cups', 'Four cups'])
})

test('a message that is refused says why, and can be discarded', async () => {
  await use(message(ben, 'Four cups'), 'Reply in thread')
  await isSeen(ben.getByRole('complementary').getByText('Nothing here yet'))
  await ben.getByRole('switch', { name: 'Offline' }).click()
  await ben.getByRole('textbox', { name: 'Reply' }).fill('That is a lot')
  await ben.getByRole('textbox', { name: 'Reply' }).press('Enter')
  await isSeen(ben.getByText('Outbox 1'))
  await ben.getByRole('button', { name: 'Close thread' }).click()
  await use(message(ana, 'Four cups'), 'Delete')
  await ana.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await isGone(message(ana, 'Four cups'))
  await ben.getByRole('switch', { name: 'Offline' }).click()
  const refused = message(ben, 'That is a lot')
  await isSeen(refused.getByText('NOT_FOUND'))
  await picture(ben, 'failed')
  await refused.getByRole('button', { name: 'Discard' }).click()
  await isGone(refused)
  expect(problems.splice(0).every((problem) => problem.includes('404'))).toBe(true)
})

test('an invite link opens the channels of a team', async () => {
  await ana.getByRole('button', { name: 'New channel' }).click()
  const making = ana.getByRole('dialog', { name: 'New channel for Ana' })
  await making.getByRole('radio', { name: /Team/ }).check()
  await making.getByRole('textbox', { name: 'Name' }).fill('Cooks')
  await making.getByRole('button', { name: 'Create channel' }).click()
  await ana.getByRole('button', { name: 'Invite people' }).click()
  await ana.getByRole('button', { name: /Make an invite link/ }).click()
  const link = await ana.getByRole('textbox', { name: /Invite link/ }).inputValue()
  await ana.getByRole('button', { name: 'Done', exact: true }).click()
  await ben.getByRole('button', { name: 'Browse channels' }).click()
  const browsing = ben.getByRole('dialog', { name: 'Browse channels' })
  await browsing.getByRole('textbox').fill(link)
  await browsing.getByRole('button', { name: 'Accept' }).click()
  await isSeen(browsing.getByText('Cooks'))
  await picture(ben, 'dialog-browse')
  await browsing.getByRole('button', { name: 'Join Cooks' }).click()
  await isSeen(composer(ben, 'Cooks'))
})

test('without a mouse one makes a channel, writes in it, and gets at a message', async () => {
  const keys = async (...names: string[]) => {
    for (const name of names) await ana.keyboard.press(name)
  }
  const tabTo = async (target: Locator) => {
    for (let steps = 0; steps < 40; steps++) {
      if ((await target.count()) > 0 && (await target.evaluate((element) => element === document.activeElement))) return
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
  expect(await message(ana, 'second line').evaluate((row) => row.contains(document.activeElement))).toBe(true)
  await tabTo(ana.getByRole('button', { name: 'React', exact: true }))
  await keys('Enter')
  await isSeen(ana.getByRole('button', { name: 'React with thumbs up' }).and(ana.locator(':focus')))
  await keys('ArrowRight', 'Enter')
  await isSeen(ana.getByRole('button', { name: '❤️, 1' }))
  await rowOf(ana, 'Keys').focus()
  await keys('ArrowDown', 'Enter')
  await isGone(composer(ana, 'Keys'))
})

test.each(['light', 'dark'] as const)('in the %s, side by side and on a phone, nothing keeps people out', async (colorScheme) => {
  const [page] = await open('', { viewport: wide, colorScheme })
  for (const name of ['ana', 'ben']) await isSeen(page.getByRole('region', { name: `Chat of ${name}` }).getByText('Live', { exact: true }))
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
})

test.each(['light', 'dark'] as const)('in the %s nothing keeps people out of dialogs, threads and pins', async (colorScheme) => {
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
})
