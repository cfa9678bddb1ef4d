import { ChatError } from '@parley/client'
import { act } from 'react'
import { beforeEach, expect, test } from 'vitest'
import { createPane } from './in-pane.ts'
import { named, usePage } from './page.ts'

const page = usePage()
beforeEach(() => sessionStorage.clear())

const composerIn = (container: Element) =>
  named(container, 'textarea', 'Message Kitchen') as HTMLTextAreaElement
const textIn = (field: Element) => (field as HTMLTextAreaElement).value
const textsIn = (container: Element) =>
  [...container.querySelectorAll('.message-text')].map(({ textContent }) => textContent)

test('Enter sends what was written without space around it, Shift+Enter does not', async () => {
  const { element, room } = await createPane()
  const { container } = await page.show(element)
  const composer = composerIn(container)
  await page.type(composer, '  hello\nthere ')
  await page.press(composer, 'Enter', { shiftKey: true })
  await page.press(composer, 'Enter', { isComposing: true })
  expect(textsIn(container)).toEqual([])
  await page.press(composer, 'Enter')
  expect(
    room
      .messages()
      .getSnapshot()
      .items.map(({ text }) => text),
  ).toEqual(['hello\nthere'])
  expect(textIn(composer)).toBe('')
  await page.type(composer, ' \n')
  await page.press(composer, 'Enter')
  expect(room.messages().getSnapshot().items).toHaveLength(1)
})

test('a text that is too long is counted in characters, and is not sent', async () => {
  const { element } = await createPane()
  const { container } = await page.show(element)
  const composer = composerIn(container)
  const left = () => container.querySelector('.composer .left')?.textContent
  await page.type(composer, 'a'.repeat(9_500))
  expect(left()).toBeUndefined()
  await page.type(composer, '👍'.repeat(9_501))
  expect(left()).toBe('499 left')
  await page.type(composer, '👍'.repeat(10_001))
  expect(left()).toBe('1 too many')
  await page.press(composer, 'Enter')
  expect(textsIn(container)).toEqual([])
  expect(textIn(composer)).toHaveLength(20_002)
})

test('the draft of a channel is there again when it is opened again', async () => {
  const { element } = await createPane({ channels: [{ id: 'd', name: 'Soup' }] })
  const { container } = await page.show(element)
  const open = (name: string) => {
    const rows = [...container.querySelectorAll('button.channel')]
    const row = rows.find(({ textContent }) => textContent?.includes(name))
    return page.click(row as Element)
  }
  await open('Kitchen')
  await page.type(composerIn(container), 'a draft')
  await open('Soup')
  expect(textIn(named(container, 'textarea', 'Message Soup'))).toBe('')
  await open('Kitchen')
  expect(textIn(composerIn(container))).toBe('a draft')
  await page.press(composerIn(container), 'Enter')
  await open('Soup')
  await open('Kitchen')
  expect(textIn(composerIn(container))).toBe('')
})

test('a quote goes out with one message', async () => {
  const { element, room } = await createPane()
  const quoted = room.receive({ from: 'ana', text: 'soup?' })
  const { container } = await page.show(element)
  await page.enter(container.querySelector('article') as Element)
  await page.click(named(container, 'button', 'Quote'))
  for (const text of ['yes', 'with ginger']) {
    await page.type(composerIn(container), text)
    await page.press(composerIn(container), 'Enter')
  }
  const { items } = room.messages().getSnapshot()
  expect(items.map(({ quotedMessage }) => quotedMessage?.id)).toEqual([
    ...[undefined, quoted.id, undefined],
  ])
})

test('members are offered for a mention by the start of any of their names', async () => {
  const { element } = await createPane()
  const { container } = await page.show(element)
  const composer = composerIn(container)
  const offered = () =>
    [...container.querySelectorAll('.mentions .muted')].map(({ textContent }) => textContent)
  await page.write(composer, 'mail@a')
  expect(offered()).toEqual([])
  await page.write(composer, 'hi @')
  expect(offered()).toEqual(['@ana', '@ben'])
  await page.write(composer, 'hi @sou')
  expect(offered()).toEqual(['@ana', '@ben'])
  await page.press(composer, 'ArrowUp')
  await page.press(composer, 'Enter')
  expect(textIn(composer)).toBe('hi @ben ')
  expect(textsIn(container)).toEqual([])
  await page.write(composer, 'hi @x')
  expect(offered()).toEqual([])
})

test('a message that was refused says why, and is sent again only if that may help', async () => {
  const { element, room } = await createPane()
  room.refuse(new ChatError('full', { code: 'RATE_LIMITED', status: 429 }))
  const { container } = await page.show(element)
  await page.type(composerIn(container), 'hello')
  await page.press(composerIn(container), 'Enter')
  const failed = () => container.querySelector('.delivery-failed')
  expect(failed()?.textContent).toMatch(/^Not sent\. /)
  room.refuse()
  await page.click(named(container, 'button', 'Retry'))
  expect(failed()).toBeNull()
  expect(textsIn(container)).toEqual(['hello'])
  room.refuse(new ChatError('no', { code: 'VALIDATION_ERROR', status: 400 }))
  await page.type(composerIn(container), 'again')
  await page.press(composerIn(container), 'Enter')
  const buttons = [...(failed()?.querySelectorAll('button') ?? [])]
  expect(buttons.map(({ textContent }) => textContent)).not.toContain('Retry')
  room.refuse()
  await page.click(named(container, 'button', 'Edit'))
  const editor = named(container, 'textarea', 'Edit message')
  await page.type(editor, ' better ')
  await page.press(editor, 'Enter')
  expect(textsIn(container)).toEqual(['hello', 'better (edited)'])
  expect(failed()).toBeNull()
})

test('a message of an offline user waits for the network', async () => {
  const { element, chat } = await createPane()
  const { container } = await page.show(element)
  await act(async () => chat.setOnline(false))
  await page.type(composerIn(container), 'later')
  await page.press(composerIn(container), 'Enter')
  expect(container.querySelector('.delivery')?.textContent).toBe('Waiting for the network')
  await act(async () => chat.setOnline(true))
  expect(container.querySelector('.delivery')).toBeNull()
})

test('an edit is saved by Enter, and dropped by Escape', async () => {
  const { element, room } = await createPane()
  await room.send({ text: 'first' }).sent
  const { container } = await page.show(element)
  const edit = async (text: string, key: string) => {
    await page.enter(container.querySelector('article') as Element)
    await page.click(named(container, 'button', 'Edit'))
    const editor = named(container, 'textarea', 'Edit message')
    await page.type(editor, text)
    await page.press(editor, key)
    return textsIn(container)
  }
  expect(await edit('second', 'Escape')).toEqual(['first'])
  expect(await edit(' ', 'Enter')).toEqual(['first'])
  expect(await edit(' second ', 'Enter')).toEqual(['second (edited)'])
})

test('only own messages have tools to edit, and only new ones to delete', async () => {
  const { element, room } = await createPane()
  const { id } = await room.send({ text: 'mine' }).sent
  room.receive({ from: 'ana', text: 'hers' })
  const { container } = await page.show(element)
  const tools = async (place: number) => {
    await page.enter(container.querySelectorAll('article')[place] as Element)
    const buttons = [...container.querySelectorAll('[role=toolbar] button')]
    return buttons.map((button) => button.getAttribute('aria-label'))
  }
  // The clock of the client in memory stands in the past.
  expect(await tools(0)).toEqual(['React', 'Reply in thread', 'Quote', 'Pin', 'Edit'])
  expect(await tools(1)).toEqual(['React', 'Reply in thread', 'Quote', 'Pin'])
  await page.enter(container.querySelectorAll('article')[0] as Element)
  await page.click(named(container, 'button', 'Pin'))
  const pinned = () =>
    room
      .messages()
      .getSnapshot()
      .items.find((each) => each.id === id)?.pinned
  expect(pinned()).toBe(true)
  await page.click(named(container, 'button', 'Unpin'))
  expect(pinned()).toBe(false)
})
