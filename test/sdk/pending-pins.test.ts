import { expect, test } from 'vitest'
import { isOffline, ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** A live client that shows the pins of a room of three messages, of which the first is pinned. */
async function opened() {
  const chat = scriptedChat()
  const talk = chat.channel('c')
  for (const text of ['1', '2', '3']) talk.send(text, { by: 'me' })
  talk.pin('c-0001')
  await chat.chat.connect()
  const room = chat.chat.channel('c')
  const shown: string[][] = []
  const pins = () => room.pins.getSnapshot().items.map(({ id }) => id)
  room.pins.subscribe(() => shown.push(pins()))
  await until(room.messages, ready)
  await expect.poll(pins).toEqual(['c-0001'])
  await quiet()
  shown.length = 0
  return { ...chat, talk, room, pins, shown }
}

test('messages that are pinned offline are listed at once, the latest first', async () => {
  const { chat, room, pins, shown, cut, mend } = await opened()
  cut()
  await isOffline(chat)
  const pinned = ['c-0002', 'c-0003'].map((id) => room.pin(id))
  expect(pins()).toEqual(['c-0003', 'c-0002', 'c-0001'])
  expect(room.pins.getSnapshot().items[0]).toMatchObject({
    ...{ text: '3', pinned: true, pinnedBy: 'me' },
    pinnedAt: expect.stringMatching(/^\d{4}-.*Z$/),
  })
  shown.length = 0
  mend()
  chat.wake()
  await Promise.all(pinned)
  await quiet()
  // None of them is gone between the answer and the server's list.
  expect(shown.filter((ids) => ids.length !== 3)).toEqual([])
  expect(new Set(pins())).toEqual(new Set(['c-0001', 'c-0002', 'c-0003']))
})

test('a pin that is refused is not listed any more', async () => {
  const { room, pins, refuseRequests } = await opened()
  refuseRequests(/pin$/, { status: 403, code: 'FORBIDDEN' })
  const pinned = room.pin('c-0002')
  expect(pins()).toEqual(['c-0002', 'c-0001'])
  await expect(pinned).rejects.toMatchObject({ code: 'FORBIDDEN' })
  expect(pins()).toEqual(['c-0001'])
})

test('a pin that others have taken back meanwhile is not listed', async () => {
  const { room, talk, pins } = await opened()
  await room.pin('c-0002')
  await quiet()
  expect(new Set(pins())).toEqual(new Set(['c-0001', 'c-0002']))
  talk.unpin('c-0002')
  await quiet()
  expect(pins()).toEqual(['c-0001'])
})

test('a reaction to what another has pinned does not list it as a pin of the user', async () => {
  const { room, talk, pins } = await opened()
  talk.pin('c-0002', 'ana')
  await quiet()
  await room.react('c-0002', '👍')
  expect(pins()).toEqual(['c-0002', 'c-0001'])
  const { items } = room.pins.getSnapshot()
  expect(items.find(({ id }) => id === 'c-0002')).toMatchObject({ pinnedBy: 'ana' })
})

test('a pin is asked for only where it may have reactions of the user', async () => {
  const chat = scriptedChat()
  const talk = chat.channel('c')
  for (let n = 1; n <= 60; n++) talk.send(`${n}`)
  await chat.chat.connect()
  const { pins, messages } = chat.chat.channel('c')
  pins.subscribe(() => {})
  await Promise.all([until(pins, ready), until(messages, ready)])
  chat.requests.length = 0
  talk.pin('c-0001')
  await until(pins, ({ items }) => items.length === 1)
  talk.react('c-0001', '👍')
  await until(pins, ({ items }) => items[0]?.reactions[0]?.count === 1)
  expect(chat.requests).toEqual([])
  talk.react('c-0002', '👍', 'me')
  talk.pin('c-0002')
  await until(pins, ({ items }) => items[0]?.reactions[0]?.own === true)
  // The shared call of this server has no pins.
  expect(chat.requests).toEqual(['POST /api/sync', expect.stringMatching(/^GET .*pins/)])
})

test('pins that a gap has changed are asked for once, with what else was missed', async () => {
  const clock = stoppedClock()
  const { chat, channel, cut, mend, loseEvents, count } = scriptedChat()
  const talk = channel('c')
  for (const text of ['1', '2']) talk.send(text)
  await chat.connect()
  const room = chat.channel('c')
  room.pins.subscribe(() => {})
  await clock.forward(1)
  await until(room.pins, ready)
  cut()
  await isOffline(chat)
  talk.pin('c-0002')
  loseEvents()
  const before = [count(/POST .*sync/), count(/GET .*pins/)]
  mend()
  await clock.forward(60_000)
  expect(room.pins.getSnapshot()).toMatchObject({ status: 'ready', items: [{ id: 'c-0002' }] })
  // The shared call of this server has no pins.
  expect([count(/POST .*sync/), count(/GET .*pins/)]).toEqual(before.map((each) => each + 1))
})

test('clients that show the pins ask for them at different times after a change', async () => {
  const clock = stoppedClock()
  const clients = Array.from({ length: 10 }, () => scriptedChat())
  const talks = clients.map(({ channel }) => channel('c'))
  for (let n = 1; n <= 60; n++) {
    for (const talk of talks) talk.send(`${n}`)
  }
  for (const { chat } of clients) {
    await chat.connect()
    chat.channel('c').pins.subscribe(() => {})
    await clock.forward(1)
    await until(chat.channel('c').pins, ready)
  }
  for (const { requests } of clients) requests.length = 0
  for (const talk of talks) {
    talk.react('c-0002', '👍', 'me')
    talk.pin('c-0002')
  }
  const asked = () => clients.filter(({ count }) => count(/GET .*pins/) > 0).length
  const seen = new Set<number>()
  for (let ms = 0; ms <= 3_000; ms += 100) {
    await clock.forward(100)
    seen.add(asked())
  }
  expect(asked()).toBe(clients.length)
  expect(seen.size).toBeGreaterThan(4)
})
