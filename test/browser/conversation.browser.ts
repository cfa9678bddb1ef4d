import type { Page } from 'playwright-core'
import { expect, test, vi } from 'vitest'
import { isGone, isSeen, picture } from '../support/browser.ts'
import { composer, message, rowOf, say, use, usePlayground } from '../support/playground.ts'

const playground = usePlayground()
let ana: Page
let ben: Page

test('a first visit finds a demo to look at; two at once make one', async () => {
  ;[ana, ben] = await Promise.all([playground.open('?user=ana'), playground.open('?user=ben')])
  for (const page of [ana, ben]) {
    await isSeen(page.getByText('Live', { exact: true }))
    await isSeen(message(page, 'Ready when you are'))
    expect(
      await page.getByRole('navigation', { name: 'Channels' }).getByRole('listitem').count(),
    ).toBe(4)
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
  expect([
    await chip(ana).getAttribute('aria-pressed'),
    await chip(ben).getAttribute('aria-pressed'),
  ]).toEqual(['false', 'true'])
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
  await say(ana, `Today: ${playground.web()}/soup`)
  await isSeen(ben.getByRole('link', { name: /Soup of the day/ }))
  await picture(ben, 'preview')
})

test('who closes the page is offline to the others, until he is back', async () => {
  const face = ana.getByRole('list', { name: 'Members' })
  await isSeen(face.getByRole('img', { name: 'Ben Okafor, online' }))
  await ben.goto('about:blank')
  await isSeen(face.getByRole('img', { name: 'Ben Okafor, offline' }))
  await ben.goto(`${playground.url()}?user=ben`)
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
  await vi.waitFor(async () =>
    expect(
      await message(ana, 'ember').evaluate(
        (row) => row.getBoundingClientRect().bottom < innerHeight,
      ),
    ).toBe(true),
  )
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
  for (const page of [ana, ben])
    expect(await texts(page, /\w+ cups?$/m)).toEqual([
      'One cup',
      'Two cups',
      'Three cups',
      'Four cups',
    ])
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
  expect(playground.problems.splice(0).every((problem) => problem.includes('404'))).toBe(true)
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

const texts = async (page: Page, pattern: RegExp) =>
  (await page.getByRole('log').getByRole('article').allInnerTexts()).flatMap(
    (text) => pattern.exec(text)?.[0] ?? [],
  )
