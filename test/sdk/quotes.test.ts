import { updateQuotes } from '@parley/client/internal/room/quotes'
import { type ChannelState, emptyState } from '@parley/client/internal/room/state'
import { expect, test } from 'vitest'
import { ready, texts, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'

/** A live client whose last message, which is pinned, quotes one that is not loaded. */
async function quoting() {
  const { chat, channel, hold } = scriptedChat()
  const talk = channel('c')
  for (let n = 1; n <= 60; n++) talk.send(`${n}`)
  const { id, seq, rev, userId, user, text } = talk.find('c-0001')
  const quote = { id, seq, rev, userId, user, text, deletedAt: null }
  const quotedMessage = { ...quote, attachmentCount: 2, attachmentType: 'image' }
  Object.assign(talk.find('c-0060'), { quotedMessage })
  talk.pin('c-0060')
  await chat.connect()
  const room = chat.channel('c')
  for (const store of [room.messages, room.pins]) store.subscribe(() => {})
  await until(room.messages, ready)
  await until(room.pins, ({ items }) => items.length === 1)
  const shown = () =>
    [room.messages, room.pins].map((store) => store.getSnapshot().items.at(-1)?.quotedMessage)
  return { talk, room, shown, hold }
}

test('quotes keep nothing of a deleted message, although it is not loaded', async () => {
  const { talk, room, shown } = await quoting()
  expect(texts(room.messages.getSnapshot())).not.toContain('1')
  talk.delete('c-0001')
  await quiet()
  const { deletedAt } = talk.find('c-0001')
  expect(deletedAt).not.toBeNull()
  const nothing = { text: '', attachmentCount: 0, attachmentType: null, deletedAt }
  expect(shown()).toMatchObject([nothing, nothing])
})

test('an edit of a message that is not loaded shows in its quotes, in pins, too', async () => {
  const { talk, shown } = await quoting()
  talk.edit('c-0001', 'edited')
  await quiet()
  expect(shown().map((quote) => quote?.text)).toEqual(['edited', 'edited'])
})

test('a change shows in the quote of a pin that is not loaded, unless it is older', () => {
  const pin = { id: 'p', quotedMessage: { id: 'q', rev: 5, text: 'known' } }
  const state = { ...emptyState, pins: [pin] } as unknown as ChannelState // as far as it is read
  const textAfter = (rev: number) =>
    updateQuotes(state, state, { id: 'q', rev, text: 'changed' }).pins?.[0]?.quotedMessage?.text
  expect([4, 6].map(textAfter)).toEqual(['known', 'changed'])
})

test('a quote has the first 200 characters, and the type of its first attachment', async () => {
  const { talk, room, hold } = await quoting()
  const thumbs = '👍'.repeat(150)
  talk.send(thumbs)
  const attachments = ['image', 'file'].map((type) => ({ type, url: 'https://example.com/a' }))
  Object.assign(talk.find('c-0061'), { attachments })
  talk.edit('c-0061', thumbs)
  await quiet()
  hold(/^POST .*\/messages$/)
  room.send({ text: 'reply', quotedMessageId: 'c-0061' }).sent.catch(() => {})
  const quoted = { text: thumbs, attachmentCount: 2, attachmentType: 'image' }
  expect(room.messages.getSnapshot().items.at(-1)?.quotedMessage).toMatchObject(quoted)
})
