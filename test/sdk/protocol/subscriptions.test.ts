import { expect, test } from 'vitest'
import { quiet } from '../../support/scripted/index.ts'
import { connectionToTest, liveConnection, publication } from '../../support/scripted/peer.ts'

const DENIED = { code: 103, message: 'permission denied' }
const BUSY = { code: 111, message: 'too many requests', temporary: true }

test('replies in any order reach their topics; repeated and unknown ones do nothing', async () => {
  const { opened, subscribe, status } = connectionToTest()
  const [a, b] = [subscribe('a'), subscribe('b')]
  const socket = await opened()
  await socket.accept()
  const [replyToA, replyToB] = [
    socket.subscribed('a', { offset: 1 }),
    socket.subscribed('b', { offset: 2 }),
  ]
  socket.say(replyToB, { id: 77, subscribe: {} }, { id: '2', error: DENIED }, replyToA)
  socket.say(replyToA, { ...replyToB, subscribe: { epoch: 'two' } }, { ...replyToB, error: DENIED })
  await quiet()
  expect([a.story, b.story, status()]).toEqual([['from one 1'], ['from one 2'], 'live'])
})

test('events before the reply are left out, those after it in the same frame are not', async () => {
  const { opened, subscribe } = connectionToTest()
  const { story } = subscribe('a')
  const socket = await opened()
  await socket.accept()
  socket.say(
    publication('a', 'early', 4),
    socket.subscribed('a', { offset: 4 }),
    publication('a', 'five', 5),
    publication('b', 'foreign', 1),
    publication('a', 'ephemeral'),
  )
  expect(story).toEqual(['from one 4', 'event five', 'event ephemeral'])
})

test('an error amid the replies concerns one topic, which is final or tried again', async () => {
  const { opened, subscribe, status, clock } = connectionToTest()
  const [a, b, c] = [subscribe('a'), subscribe('b'), subscribe('c')]
  const socket = await opened()
  await socket.accept()
  socket.say(
    socket.subscribed('a'),
    { id: socket.asked('subscribe', 'b').id, error: DENIED },
    { id: socket.asked('subscribe', 'c').id, error: BUSY },
  )
  const before = socket.commands.length
  await clock.forward(240)
  expect(socket.commands).toHaveLength(before)
  await clock.forward(260)
  expect(socket.commands.slice(before)).toMatchObject([{ subscribe: { channel: 'c' } }])
  socket.say({ id: socket.asked('subscribe', 'c').id, error: BUSY })
  await clock.forward(490)
  expect(socket.commands).toHaveLength(before + 1)
  await clock.forward(510)
  socket.say(socket.subscribed('c'))
  await quiet()
  expect([a.story, b.story, c.story]).toEqual([['from one 0'], ['lost'], ['from one 0']])
  expect(status()).toBe('live')
})

test('a topic that is refused for now, and then left, is not asked for again', async () => {
  const { opened, subscribe, status, clock } = connectionToTest()
  subscribe('a')
  const b = subscribe('b')
  const socket = await opened()
  await socket.accept()
  socket.say(socket.subscribed('a'), { id: socket.asked('subscribe', 'b').id, error: BUSY })
  await quiet()
  expect(status()).toBe('catching-up')
  b.unsubscribe()
  await quiet()
  expect(status()).toBe('live')
  const before = socket.commands.length
  await clock.forward(30_000)
  expect(socket.commands).toHaveLength(before)
})

test('a topic that was refused many times starts afresh in the next session', async () => {
  const { opened, reopened, subscribe, clock } = connectionToTest()
  subscribe('a')
  const first = await opened()
  await first.accept()
  const refuse = (socket: typeof first) =>
    socket.say({ id: socket.asked('subscribe', 'a').id, error: BUSY })
  for (let failures = 1; failures <= 6; failures++) {
    refuse(first)
    await clock.forward(500 * 2 ** (failures - 1))
  }
  refuse(first)
  first.onclose({ code: 1006, reason: '' })
  const second = await reopened()
  await second.accept()
  second.say(second.subscribed('a'))
  await clock.forward(60_000)
  const subscribes = () => second.commands.filter(({ subscribe }) => subscribe)
  expect(subscribes()).toHaveLength(1)
  second.say({ push: { channel: 'a', unsubscribe: { code: 2500 } } })
  await quiet()
  refuse(second)
  await clock.forward(500)
  expect(subscribes()).toHaveLength(3)
})

test('a refused topic is not subscribed again, in this session or in the next', async () => {
  const { first, reopened, connection, clock } = await liveConnection('a', 'b')
  first.say({ push: { channel: 'b', unsubscribe: { code: 2000 } } })
  await clock.forward(60_000)
  expect(first.frames).toHaveLength(1)
  connection.handleSleep()
  const second = await reopened()
  await second.accept()
  expect(second.commands.filter(({ subscribe }) => subscribe)).toMatchObject([
    { subscribe: { channel: 'a' } },
  ])
})

test('a topic that is left and taken again in one tick gets each event once', async () => {
  const { first, stories, subscribed, subscribe, connection } = await liveConnection('a')
  const before = first.frames.length
  subscribed[0]?.unsubscribe()
  const second = subscribe('a')
  second.unsubscribe()
  second.unsubscribe()
  const third = subscribe('a')
  await quiet()
  const [frame = [], ...others] = first.frames.slice(before)
  expect(frame.map(({ id, ...command }) => Object.keys(command)[0])).toEqual([
    'unsubscribe',
    'subscribe',
    'unsubscribe',
    'subscribe',
  ])
  expect(others).toEqual([])
  const [left, taken, leftAgain, takenAgain] = frame.map(({ id }) => id)
  first.say(
    publication('a', 'old', 1),
    { id: left, unsubscribe: {} },
    { push: { channel: 'a', unsubscribe: { code: 2000 } } },
    { id: taken, subscribe: { recoverable: true, epoch: 'one', offset: 1 } },
    publication('a', 'between', 2),
    { id: leftAgain, unsubscribe: {} },
    { id: takenAgain, subscribe: { recoverable: true, epoch: 'one', offset: 2 } },
    publication('a', 'new', 3),
  )
  expect([stories[0], second.story, third.story]).toEqual([
    ['from one 0'],
    [],
    ['from one 2', 'event new'],
  ])
  expect(connection.state.getSnapshot().status).toBe('live')
})

test('a topic that is left before the socket opens is never asked for', async () => {
  const { opened, subscribe } = connectionToTest()
  subscribe('a').unsubscribe()
  const socket = await opened()
  await socket.accept()
  expect(socket.commands.map((command) => Object.keys(command)[1])).toEqual(['connect'])
})

test('a server that cannot unsubscribe a topic is asked again by a new socket', async () => {
  const { first, subscribed, status, reopened } = await liveConnection('a')
  subscribed[0]?.unsubscribe()
  await quiet()
  first.say({ id: first.asked('unsubscribe', 'a').id, error: BUSY })
  expect([status(), first.isClosed]).toEqual(['offline', true])
  const second = await reopened()
  await second.accept()
  expect(second.commands).toHaveLength(1)
})

test('a subscription that ends with insufficient state is made again at once', async () => {
  const { first, stories } = await liveConnection('a')
  first.say(publication('a', 'one', 1), { push: { channel: 'a', unsubscribe: { code: 2500 } } })
  await quiet()
  expect(first.asked('subscribe', 'a').subscribe).toMatchObject({ recover: true, offset: 1 })
  // It belongs to the subscription that has ended.
  first.say({ push: { channel: 'a', unsubscribe: { code: 2000 } } })
  first.say(first.subscribed('a', { was_recovering: true, epoch: 'two', offset: 5 }))
  expect(stories[0]).toEqual(['from one 0', 'event one', 'from two 5'])
})

test('a subscriber that throws is reported, and the others get their events', async () => {
  const { first, stories, connection, errors, status } = await liveConnection('a')
  const fail = () => {
    throw new Error('a bug')
  }
  connection.subscribe('b', { onSubscribed: fail, onEvent: fail, onAccessLost: fail })
  await quiet()
  first.say(
    first.subscribed('b'),
    publication('b', 'x', 1),
    publication('a', 'y', 1),
    { push: { channel: 'b', unsubscribe: { code: 2000 } } },
    publication('a', 'z', 2),
  )
  expect(errors).toHaveLength(3)
  expect([stories[0], status()]).toEqual([['from one 0', 'event y', 'event z'], 'live'])
})

test('a topic that is left while recovered events are delivered gets no more', async () => {
  const { first, connection } = await liveConnection('a')
  const received: unknown[] = []
  const unsubscribe = connection.subscribe('b', {
    since: { epoch: 'one', offset: 0 },
    onSubscribed: () => {},
    onEvent: (data) => {
      received.push(data)
      unsubscribe()
    },
    onAccessLost: () => {},
  })
  await quiet()
  const publications = [1, 2, 3].map((offset) => ({ data: offset, offset }))
  first.say(first.subscribed('b', { was_recovering: true, recovered: true, publications }))
  await quiet()
  expect(received).toEqual([1])
  expect(first.asked('unsubscribe', 'b')).toBeDefined()
})
