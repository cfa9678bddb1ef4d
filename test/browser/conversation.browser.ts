import type { Page } from 'playwright-core'
import { expect, test, vi } from 'vitest'
import { expectAccessible, expectHidden, expectVisible, screenshot } from '../support/browser.ts'
import { composer, message, rowOf, say, usePlayground, useTool } from '../support/playground.ts'
import { patient } from '../support/until.ts'

const playground = usePlayground()
let ana: Page
let ben: Page

test('two first visits at the same time create one demo', async () => {
  ;[ana, ben] = await Promise.all([playground.open('?user=ana'), playground.open('?user=ben')])
  for (const page of [ana, ben]) {
    await expectVisible(page.getByText('Live', { exact: true }))
    await expectVisible(message(page, 'Ready when you are'))
    const channels = page.getByRole('navigation', { name: 'Channels' })
    await expect.poll(() => channels.getByRole('listitem').count()).toBe(4)
    await expect.poll(() => page.getByRole('log').getByRole('article').count()).toBe(4)
  }
})

test('a user can create a channel and add another user', async () => {
  await ana.getByRole('button', { name: 'New channel' }).click()
  const createDialog = ana.getByRole('dialog', { name: 'New channel for Ana' })
  await createDialog.getByRole('textbox', { name: 'Name' }).fill('Kitchen')
  await screenshot(ana, 'dialog-create')
  await createDialog.getByRole('button', { name: 'Create channel' }).click()
  await expectVisible(ana.getByText('Nothing here yet'))
  await ana.getByRole('button', { name: 'Invite people' }).click()
  const inviteDialog = ana.getByRole('dialog', { name: 'Invite to Kitchen' })
  await inviteDialog.getByRole('button', { name: 'Add Ben Okafor' }).click()
  await expectVisible(inviteDialog.getByText('Member'))
  await screenshot(ana, 'dialog-invite')
  await inviteDialog.getByRole('button', { name: 'Done' }).click()
  await expectVisible(rowOf(ben, 'Kitchen'))
})

test('a message is unread until it is seen, and then its author gets a receipt', async () => {
  const total = ben.getByRole('status', { name: /unread messages? in all/ })
  const hasNone = () => vi.waitUntil(async () => (await total.count()) === 0, patient)
  await hasNone()
  await say(ana, 'Soup or salad?')
  await expectVisible(message(ana, 'Soup or salad?'))
  await expectVisible(ana.getByText('Sent', { exact: true }))
  await expectVisible(rowOf(ben, 'Kitchen.*1 unread message$'))
  await screenshot(ben, 'unread')
  await rowOf(ben, 'Kitchen').click()
  await expectVisible(message(ben, 'Soup or salad?'))
  await expectHidden(rowOf(ben, 'Kitchen.*unread'))
  await expectVisible(ana.getByText('Seen by Ben'))
  await hasNone()
})

test('typing is shown to others until the message is sent', async () => {
  await composer(ana).pressSequentially('Say')
  await expectVisible(ben.getByText('Ana is typing…'))
  await screenshot(ben, 'typing')
  await composer(ana).fill('Say something')
  await composer(ana).press('Enter')
  await expectVisible(message(ben, 'Say something'))
  await expectHidden(ben.getByText('Ana is typing…'))
})

test('typing a mention offers members, and the mentioned user sees it highlighted', async () => {
  await composer(ana).pressSequentially('Soup then, @be')
  await expectVisible(ana.getByRole('option', { name: /Ben Okafor/ }))
  await screenshot(ana, 'mentions')
  await composer(ana).press('Enter')
  await expect.poll(() => composer(ana).inputValue()).toBe('Soup then, @ben ')
  await composer(ana).press('Enter')
  await expectVisible(message(ben, 'Soup then, @Ben'))
  await expect.poll(() => message(ben, 'Soup then').getAttribute('data-mentions-me')).toBe('true')
  await expect.poll(() => message(ana, 'Soup then').getAttribute('data-mentions-me')).toBe('false')
})

test('a reply appears in a thread, which others open from its message', async () => {
  await useTool(message(ben, 'Soup or salad?'), 'Reply in thread')
  await say(ben, 'Soup, always', 'Reply')
  await message(ana, 'Soup or salad?').getByRole('button', { name: '1 reply' }).click()
  const thread = ana.getByRole('complementary', { name: 'Thread' })
  await expectVisible(message(thread, 'Soup, always'))
  await screenshot(ana, 'thread')
  await ana.keyboard.press('Escape')
  await expectHidden(thread)
  await expectVisible(ana.getByRole('button', { name: '1 reply' }).and(ana.locator(':focus')))
  await ben.getByRole('button', { name: 'Close thread' }).click()
})

test('a reaction is counted for everyone, marked for its user, and can be removed', async () => {
  await useTool(message(ben, 'Soup or salad?').first(), 'React')
  await screenshot(ben, 'emojis')
  await ben.getByRole('button', { name: 'React with noodles' }).click()
  const chip = (page: Page) => message(page, 'Soup or salad?').getByRole('button', { name: /^🍜/ })
  await expectVisible(chip(ana))
  await expect.poll(() => chip(ana).getAttribute('aria-pressed')).toBe('false')
  await expect.poll(() => chip(ben).getAttribute('aria-pressed')).toBe('true')
  await chip(ana).click()
  await expectVisible(message(ben, 'Soup or salad?').getByRole('button', { name: '🍜, 2' }))
  await chip(ana).click()
  await expectVisible(message(ben, 'Soup or salad?').getByRole('button', { name: '🍜, 1' }))
})

test('a pinned message is listed until it is unpinned', async () => {
  await useTool(message(ana, 'Soup then'), 'Pin')
  await ben.getByRole('button', { name: 'Pinned messages: 1' }).click()
  const pins = ben.getByRole('complementary', { name: 'Pinned messages' })
  await expectVisible(pins.getByText('Soup then'))
  await screenshot(ben, 'pins')
  await pins.getByRole('button', { name: 'Unpin' }).click()
  await expectVisible(pins.getByText('Nothing is pinned'))
  await expectVisible(ana.getByRole('button', { name: 'Pinned messages: 0' }))
  await pins.getByRole('button', { name: 'Close pinned messages' }).click()
})

test('edits and deletions reach other users', async () => {
  await useTool(message(ana, 'Say something'), 'Edit')
  await say(ana, 'Say anything', 'Edit message')
  await expectVisible(message(ben, 'Say anything (edited)'))
  await useTool(message(ana, 'Say anything'), 'Delete')
  await ana.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await expectHidden(message(ben, 'Say anything'))
})

test('a message with a link gets a preview card', async () => {
  await say(ana, `Today: ${playground.web()}/soup`)
  await expectVisible(ben.getByRole('link', { name: /Soup of the day/ }))
  await screenshot(ben, 'preview')
})

test('a user who closes the page is offline to others until they return', async () => {
  const members = ana.getByRole('list', { name: 'Members' })
  await expectVisible(members.getByRole('img', { name: 'Ben Okafor, online' }))
  await ben.goto('about:blank')
  await expectVisible(members.getByRole('img', { name: 'Ben Okafor, offline' }))
  await ben.goto(`${playground.url()}?user=ben`)
  await expectVisible(members.getByRole('img', { name: 'Ben Okafor, online' }))
  await rowOf(ben, 'Kitchen').click()
})

test('scrolling up loads earlier messages without a jump, and a button leads back', async () => {
  await rowOf(ana, 'Word chain').click()
  await expectVisible(message(ana, 'ember'))
  const log = ana.getByRole('log')
  expect(await message(ana, 'apple').count()).toBe(0)
  const position = await log.evaluate(async (box) => {
    const rows = () => [...box.querySelectorAll('article')]
    const [first] = rows()
    box.scrollTop = 0
    const before = (first as Element).getBoundingClientRect().top
    while (rows()[0] === first) await new Promise(requestAnimationFrame)
    await new Promise(requestAnimationFrame)
    await new Promise(requestAnimationFrame)
    return { before, after: (first as Element).getBoundingClientRect().top }
  })
  expect(Math.abs(position.after - position.before)).toBeLessThan(2)
  await log.evaluate((box) => box.scrollTo(0, 0))
  await expectVisible(message(ana, 'apple'))
  await screenshot(ana, 'paging')
  await ana.getByRole('button', { name: 'Latest' }).click()
  const isInView = () =>
    message(ana, 'ember').evaluate((row) => row.getBoundingClientRect().bottom < innerHeight)
  await vi.waitFor(async () => expect(await isInView()).toBe(true), patient)
  await rowOf(ana, 'Kitchen').click()
})

test('messages written offline wait in the outbox and are sent in order', async () => {
  await ana.getByRole('switch', { name: 'Online' }).click()
  await expectVisible(ana.getByText(/next try in \d+ s/))
  for (const text of ['One cup', 'Two cups', 'Three cups']) await say(ana, text)
  await expectVisible(ana.getByText('Outbox 3'))
  await ana.getByText('Outbox 3').click()
  await expect
    .poll(() => ana.getByRole('list', { name: 'Outbox' }).getByRole('listitem').count())
    .toBe(3)
  await expect.poll(() => message(ana, 'Two cups').getAttribute('data-status')).toBe('pending')
  expect(await message(ben, 'One cup').count()).toBe(0)
  await screenshot(ana, 'offline')
  await expectAccessible(ana)
  await say(ben, 'Where is Ana?')
  await ana.getByRole('switch', { name: 'Online' }).click()
  await expectVisible(ana.getByText('Live', { exact: true }))
  await expectVisible(message(ana, 'Where is Ana?'))
  await expectVisible(message(ben, 'Three cups'))
  expect(await textsIn(ben, /\w+ cups?$/m)).toEqual(['One cup', 'Two cups', 'Three cups'])
  await expectHidden(ana.getByText(/^Outbox/))
})

test('waiting messages survive a reload without a network and are stored once', async () => {
  await ana.getByRole('switch', { name: 'Online' }).click()
  await say(ana, 'Four cups')
  await expectVisible(ana.getByText('Outbox 1'))
  await ana.reload()
  // The switch is remembered, so the page starts without a network.
  await expectVisible(ana.getByText('Outbox 1'))
  await rowOf(ana, 'Kitchen').click()
  await expectVisible(message(ana, 'Four cups').getByText('Waiting for the network'))
  await ana.getByRole('switch', { name: 'Online' }).click()
  await expectVisible(message(ben, 'Four cups'))
  await expectVisible(message(ana, 'Four cups').and(ana.locator('[data-status=sent]')))
  // The first call brings the messages that are newer than the snapshot.
  const expected = ['One cup', 'Two cups', 'Three cups', 'Four cups']
  for (const page of [ana, ben])
    await expect.poll(() => textsIn(page, /\w+ cups?$/m)).toEqual(expected)
})

test('a refused message shows its error and can be discarded', async () => {
  await useTool(message(ben, 'Four cups'), 'Reply in thread')
  await expectVisible(ben.getByRole('complementary').getByText('Nothing here yet'))
  await ben.getByRole('switch', { name: 'Online' }).click()
  await say(ben, 'That is a lot', 'Reply')
  await expectVisible(ben.getByText('Outbox 1'))
  await useTool(message(ana, 'Four cups'), 'Delete')
  await ana.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await expectHidden(message(ana, 'Four cups'))
  await ben.getByRole('switch', { name: 'Online' }).click()
  const refused = message(ben, 'That is a lot')
  await expectVisible(refused.getByText('Not sent. That is not there any more.'))
  await expectHidden(refused.getByRole('button', { name: 'Retry' }))
  await expectVisible(refused.getByRole('button', { name: 'Copy' }))
  await expectVisible(ben.getByText('Some of it was refused.'))
  await expectVisible(ben.getByText('The message that began it was deleted.'))
  await screenshot(ben, 'failed')
  await refused.getByRole('button', { name: 'Edit' }).click()
  const sentAgain = ben.waitForResponse(
    (response) => response.request().postData()?.includes('a lot, again') ?? false,
  )
  await say(ben, 'That is a lot, again', 'Edit message')
  expect((await sentAgain).status()).toBe(404)
  await expectVisible(message(ben, 'That is a lot, again').getByText(/^Not sent/))
  await refused.getByRole('button', { name: 'Discard' }).click()
  await expectHidden(refused)
  await expectHidden(ben.getByText('Some of it was refused.'))
  expect(playground.problems.splice(0).every((problem) => problem.includes('404'))).toBe(true)
})

/** The matches of a pattern in the messages of a page, in order. */
async function textsIn(page: Page, pattern: RegExp) {
  const texts = await page.getByRole('log').getByRole('article').allInnerTexts()
  return texts.flatMap((text) => pattern.exec(text)?.[0] ?? [])
}
