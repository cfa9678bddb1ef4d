import { memoryStorage, type OutboxStorage } from '@parley/client'
import { createDeferred } from '@parley/client/internal/shared/timing'
import { expect, test } from 'vitest'
import { ready, texts, until } from '../support/chat.ts'
import { quiet, type ScriptedChat, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

const SEND = /^POST .*\/messages$/
const BATCH = /^POST .*\/messages\/batch$/
const EDIT = /^PATCH /
const REFUSED = { status: 403, code: 'FORBIDDEN' }
const LOST = { error: { code: 'UNAVAILABLE', message: 'the answer was lost' } }
const lost = () => Response.json(LOST, { status: 503 })
const stored = (storage: OutboxStorage) => storage.load('http://chat app:me')

/** A live client that watches a room of one message. */
async function live() {
  const storage = memoryStorage()
  const scene = scriptedChat({ storage })
  const talk = scene.channel('c')
  talk.send('theirs')
  await scene.chat.connect()
  const room = scene.chat.channel('c')
  room.watch()
  await until(room.messages, ready)
  return { ...scene, storage, talk, room, shown: () => texts(room.messages.getSnapshot()) }
}
/** Does it without a connection. */
async function offline<Result>({ chat }: Pick<ScriptedChat, 'chat'>, act: () => Result) {
  chat.disconnect()
  const result = act()
  await quiet()
  return result
}

test('a retry of a message that is on its way changes nothing', async () => {
  const { room, hold, count } = await live()
  const answer = hold(SEND)
  const message = room.send({ text: 'new' })
  const { sent } = message
  await answer.asked
  message.retry()
  answer.release()
  expect(await sent).toMatchObject({ text: 'new' })
  expect(count(SEND)).toBe(1)
})

test('a message that is discarded on its way, and then refused, stays away', async () => {
  const { room, hold, refuseRequests, storage, shown } = await live()
  refuseRequests(SEND, REFUSED)
  const answer = hold(SEND)
  const message = room.send({ text: 'new' })
  message.sent.catch(() => {})
  await answer.asked
  message.discard()
  answer.release()
  await quiet()
  expect([shown(), await stored(storage)]).toEqual([['theirs'], []])
})

test('a refused message that the user deletes is gone for good', async () => {
  const { room, refuseRequests, storage, shown } = await live()
  refuseRequests(SEND, REFUSED)
  const message = room.send({ text: 'new' })
  await expect(message.sent).rejects.toMatchObject({ code: 'FORBIDDEN' })
  expect(shown()).toEqual(['theirs', 'new'])
  await room.delete(message.clientId)
  await quiet()
  expect([shown(), await stored(storage)]).toEqual([['theirs'], []])
})

test('a message that was written after a reaction is sent after it', async () => {
  const scene = await live()
  const { chat, room, talk } = scene
  const all = await offline(scene, () => [
    room.react('c-0001', '👍'),
    room.send({ text: 'new' }).sent,
  ])
  await chat.connect()
  await Promise.all(all)
  expect(texts({ items: talk.messages })).toEqual(['theirs', 'new'])
  expect(talk.find('c-0001').reactions).toHaveLength(1)
})

test('an edit whose answer was lost is sent again as it was, before the next', async () => {
  const { room, hold, count, talk } = await live()
  const answer = hold(EDIT)
  const first = room.edit('c-0001', { text: 'one' })
  await answer.asked
  answer.release(lost())
  await quiet()
  const second = room.edit('c-0001', { text: 'two' })
  await Promise.all([first, second])
  expect([count(EDIT), talk.find('c-0001').text]).toEqual([3, 'two'])
})

test('an edit of a message whose batch may have arrived is a call of its own', async () => {
  const scene = await live()
  const { chat, room, hold, count, talk } = scene
  const answer = hold(BATCH)
  const [one, two] = await offline(scene, () => [
    room.send({ text: '1' }),
    room.send({ text: '2' }),
  ])
  await chat.connect()
  await answer.asked
  answer.release(lost())
  await quiet()
  const edited = room.edit(one?.clientId ?? '', { text: 'edited' })
  await Promise.all([one?.sent, two?.sent, edited])
  expect(texts({ items: talk.messages })).toEqual(['theirs', 'edited', '2'])
  expect(count(EDIT)).toBe(1)
})

test('messages of a batch that is refused as a whole are sent one by one', async () => {
  const scene = await live()
  const { chat, room, intercept, count, talk } = scene
  const error = { code: 'PAYLOAD_TOO_LARGE', message: 'too large' }
  intercept(BATCH, () => {
    if (count(BATCH) > 3) throw new TypeError('again and again')
    return Response.json({ error }, { status: 413 })
  })
  await offline(scene, () => {
    for (const text of ['1', '2']) room.send({ text })
  })
  await chat.connect()
  await expect.poll(() => texts({ items: talk.messages })).toEqual(['theirs', '1', '2'])
  expect(count(BATCH)).toBe(1)
})

test('a message that is written while no token is accepted waits', async () => {
  const clock = stoppedClock()
  const { chat, channel, refuseRequests } = scriptedChat()
  channel('c')
  await chat.connect()
  refuseRequests(SEND, { status: 401, code: 'INVALID_TOKEN' })
  const message = chat.channel('c').send({ text: 'new' })
  await quiet()
  expect(message.message).toMatchObject({ status: 'pending', waiting: expect.anything() })
  refuseRequests()
  await clock.forward(2_000)
  expect(await message.sent).toMatchObject({ text: 'new' })
})

test('a batch waits for the longest Retry-After of its messages', async () => {
  const clock = stoppedClock()
  const { chat, channel, intercept, count } = scriptedChat()
  channel('c')
  await chat.connect()
  const error = (retryAfterSeconds: number) => ({
    error: { code: 'RATE_LIMITED', message: 'too many', retryAfterSeconds },
  })
  intercept(BATCH, () => Response.json({ results: [error(20), error(1)] }))
  await offline({ chat }, () => {
    for (const text of ['1', '2']) chat.channel('c').send({ text })
  })
  void chat.connect()
  await clock.forward(1)
  for (let second = 0; second < 15; second++) await clock.forward(1_000)
  expect(count(/messages/)).toBe(1)
  for (let second = 0; second < 10; second++) await clock.forward(1_000)
  expect(count(/messages/)).toBe(2)
})

test('a message written before the first token is stored once its user is known', async () => {
  const storage = memoryStorage()
  const { chat, channel, refuseRequests } = scriptedChat({ storage })
  channel('c')
  refuseRequests(SEND, { status: 503, code: 'UNAVAILABLE' })
  chat.channel('c').send({ text: 'early' })
  await chat.connect()
  await expect.poll(() => stored(storage)).toMatchObject([{ text: 'early' }])
})

test('an outbox that is read after a disconnect sends nothing', async () => {
  const storage = memoryStorage()
  const held = createDeferred<void>()
  const slow = {
    ...storage,
    load: async (owner: string) => {
      await held.promise
      return storage.load(owner)
    },
  }
  const { chat, channel, count } = scriptedChat({ storage: slow })
  channel('c')
  chat.channel('c').send({ text: 'new' })
  await chat.connect()
  chat.disconnect()
  held.resolve()
  await quiet()
  expect(count(SEND)).toBe(0)
})

test('waking sends what waits for its next attempt', async () => {
  const clock = stoppedClock()
  const { chat, channel, refuseRequests } = scriptedChat()
  channel('c')
  await chat.connect()
  refuseRequests(SEND, { status: 503, code: 'UNAVAILABLE' })
  const { sent, message } = chat.channel('c').send({ text: 'new' })
  for (let second = 0; second < 60; second++) await clock.forward(1_000)
  expect(message.status).toBe('pending')
  refuseRequests()
  chat.wake()
  await clock.forward(1)
  expect(await sent).toMatchObject({ text: 'new' })
})

test('marking as read without a connection marks what was shown at that time', async () => {
  const scene = await live()
  const { chat, room, talk, bodies } = scene
  const read = await offline(scene, () => ({ done: room.markRead() }))
  talk.send('unseen')
  await chat.connect()
  await read.done
  expect(bodies.get('POST /api/channels/c/read')).toEqual({ messageId: 'c-0001' })
})

test('a message that is sent again goes after those that were written since', async () => {
  const { talk, room, refuseRequests } = await live()
  refuseRequests(SEND, REFUSED)
  const first = room.send({ text: 'first' })
  await expect(first.sent).rejects.toMatchObject({ code: 'FORBIDDEN' })
  refuseRequests(SEND, { status: 503, code: 'UNAVAILABLE' })
  const second = room.send({ text: 'second' })
  await quiet()
  first.retry()
  refuseRequests()
  // Not woken, because that sorts what is stored.
  await Promise.all([first.sent, second.sent])
  expect(texts({ items: talk.messages })).toEqual(['theirs', 'second', 'first'])
})

test('a message that is on its way again is not sent beside itself', async () => {
  const { chat, room, refuseRequests, hold, count } = await live()
  const clock = stoppedClock()
  refuseRequests(SEND, { status: 503, code: 'UNAVAILABLE' })
  const { sent } = room.send({ text: 'new' })
  await quiet()
  refuseRequests()
  const answer = hold(SEND)
  await clock.forward(1_000)
  await answer.asked
  chat.wake()
  await quiet()
  answer.release()
  await sent
  expect(count(SEND)).toBe(2)
})
