import { expect, test } from 'vitest'
import { ready } from '../support/chat.ts'
import { scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** The socket works, and REST cannot be reached: no answer comes, not even an error. */

/** A client with several stores and lines of messages that all wait for REST. */
async function unreachable() {
  const clock = stoppedClock()
  const scripted = scriptedChat()
  const { chat, channel, network, requests } = scripted
  const ids = Array.from({ length: 6 }, (_, index) => `c${index}`)
  for (const id of ids) channel(id).send('before')
  await chat.connect()
  network.isCut = true
  // The first one finds out.
  await chat.api.users.get({ userId: 'ana' }, { timeoutMs: 1 }).catch(() => {})
  const rooms = ids.map((id) => chat.channel(id))
  for (const room of rooms) {
    for (const store of [room.messages, room.members, room.pins]) store.subscribe(() => {})
    room.send({ text: 'waits' })
  }
  const lists = [chat.channels(), chat.channels({ type: 'group' })]
  for (const list of lists) list.subscribe(() => {})
  for (const userId of ['ana', 'ben']) chat.presence(userId).subscribe(() => {})
  requests.length = 0
  const isRight = () =>
    lists.every((list) => ready(list.getSnapshot())) &&
    rooms.every(
      (room) =>
        ready(room.messages.getSnapshot()) &&
        ready(room.members.getSnapshot()) &&
        room.messages.getSnapshot().items.every(({ status }) => status === 'sent'),
    )
  return { ...scripted, clock, rooms, isRight }
}

test('a client that cannot reach REST for a minute makes at most 15 calls in it', async () => {
  const { clock, requests, network, isRight } = await unreachable()
  for (let second = 0; second < 60; second++) await clock.forward(1_000)
  expect(requests.length).toBeLessThanOrEqual(15)
  expect(requests.length).toBeGreaterThan(3)
  network.isCut = false
  let seconds = 0
  for (; !isRight() && seconds < 60; seconds++) await clock.forward(1_000)
  expect(seconds).toBeLessThanOrEqual(20)
})

test('the pause of a client that could not reach REST ends when it is woken', async () => {
  const { chat, clock, network, isRight } = await unreachable()
  for (let second = 0; second < 60; second++) await clock.forward(1_000)
  network.isCut = false
  chat.wake()
  await clock.forward(1)
  await clock.forward(1)
  expect(isRight()).toBe(true)
})

test('the pause of a client that could not reach REST ends with its connection', async () => {
  const { cut, mend, clock, network, requests, isRight } = await unreachable()
  for (let second = 0; second < 60; second++) await clock.forward(1_000)
  // The next pause has just begun, of five seconds or more.
  const made = requests.length
  while (requests.length === made) await clock.forward(100)
  cut()
  await clock.forward(1)
  mend()
  network.isCut = false
  for (let second = 0; second < 3; second++) await clock.forward(1_000)
  expect(isRight()).toBe(true)
})

test('a call that was not sent is sent after the pause, also if none may be repeated', async () => {
  const clock = stoppedClock()
  const { chat, network, count, intercept } = scriptedChat()
  intercept(/^POST \/api\/channels$/, () => Response.json({ id: 'made' }))
  await chat.connect()
  network.isCut = true
  await chat.api.users.get({ userId: 'ana' }, { timeoutMs: 1 }).catch(() => {})
  network.isCut = false
  const made = chat.api.channels.create({ type: 'group', name: 'Made' })
  for (let second = 0; second < 12; second++) await clock.forward(1_000)
  expect(await made).toEqual({ id: 'made' })
  expect(count(/^POST \/api\/channels$/)).toBe(1)
})

test('a client that is woken ends no pause of another one in the same page', async () => {
  const clock = stoppedClock()
  const [waiting, woken] = [scriptedChat(), scriptedChat()]
  for (const { chat } of [waiting, woken]) await chat.connect()
  waiting.intercept(
    /users/,
    () => new Response('', { status: 503, headers: { 'retry-after': '7' } }),
  )
  const read = waiting.chat.api.users.get({ userId: 'ana' })
  woken.network.isCut = true
  const lost = woken.chat.api.users.get({ userId: 'ana' })
  await clock.forward(100)
  woken.network.isCut = false
  woken.chat.wake()
  await clock.forward(1)
  expect(await lost).toMatchObject({ id: 'ana' })
  expect(waiting.count(/users/)).toBe(1)
  waiting.refuseRequests()
  await clock.forward(8_000)
  expect(await read).toMatchObject({ id: 'ana' })
})

test('a client that is woken keeps the pause that a server asked it for', async () => {
  const clock = stoppedClock()
  const { chat, network, intercept, count, refuseRequests } = scriptedChat()
  await chat.connect()
  intercept(/users/, () => new Response('', { status: 503, headers: { 'retry-after': '7' } }))
  const read = chat.api.users.get({ userId: 'ana' })
  await clock.forward(1)
  network.isCut = true
  await chat.api.preferences.get({}, { timeoutMs: 1 }).catch(() => {})
  network.isCut = false
  chat.wake()
  await clock.forward(100)
  expect(count(/users/)).toBe(1)
  refuseRequests()
  await clock.forward(8_000)
  expect(await read).toMatchObject({ id: 'ana' })
})

test('calls that wait for REST are made as soon as the client is connected', async () => {
  const clock = stoppedClock()
  const { chat, network, hold, count } = scriptedChat()
  await chat.connect()
  chat.disconnect()
  network.isCut = true
  for (let second = 0; second < 30; second++) {
    await chat.api.users.get({ userId: 'ana' }, { timeoutMs: 1 }).catch(() => {})
    await clock.forward(1_000)
  }
  network.isCut = false
  hold(/slow$/)
  // One of them tries, and gets no answer.
  while (count(/slow$/) === 0) {
    void chat.api.users.get({ userId: 'slow' }).catch(() => {})
    await clock.forward(100)
  }
  const waiting = chat.api.users.get({ userId: 'ben' })
  await clock.forward(100)
  expect(count(/ben$/)).toBe(0)
  void chat.connect()
  await clock.forward(1)
  await clock.forward(1)
  expect(count(/ben$/)).toBe(1)
  expect(await waiting).toMatchObject({ id: 'ben' })
})
