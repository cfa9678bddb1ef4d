import { AdmissionError } from '@parley/server/core/admission'
import { closings } from '@parley/server/realtime/protocol/codes'
import { expect, test } from 'vitest'
import { channelId, chat, delivered, own, pass, stopTimers } from '../hub/fixture.ts'
import { ana, openConnection } from './fixture.ts'

test('a socket that closes while its token is verified is not counted', async () => {
  const { connect, connection, node, sessions, holdVerification } = await openConnection()
  const verify = holdVerification()
  await connect()
  connection.closed()
  verify()
  await pass()
  expect(sessions.isEmpty).toBe(true)
  expect(node.userSockets.take(ana)).toBe(true)
})

test('a connect that finds the node busy ends its socket: the client comes back', async () => {
  const { connect, node, closed, messages } = await openConnection()
  node.register = () => Promise.reject(new AdmissionError('busy'))
  await connect()
  expect([closed, messages()]).toEqual([[closings.tooManyRequests.code], []])
})

test('the answer to connect says in seconds how often the client is pinged', async () => {
  const { connect, messages } = await openConnection()
  await connect()
  expect(messages()[0].connect).toMatchObject({ ping: 25, pong: true, ttl: 60 })
})

test('a topic without events has no offset, and a subscription to it is live', async () => {
  const { connect, ask, hub, memory, messages } = await openConnection()
  await connect()
  expect(await ask({ id: 2, subscribe: { channel: chat } })).toEqual({
    id: 2,
    subscribe: { recoverable: true, positioned: true, epoch: 'one' },
  })
  hub.publish([memory.append(chat)])
  await pass()
  expect(messages().at(-1).push).toMatchObject({ channel: chat, pub: { offset: 1 } })
})

test('subscribes that the database did not answer may be repeated', async () => {
  const { connect, ask, memory, problems, closed } = await openConnection()
  await connect()
  memory.failure = new Error('no database')
  const refused = await ask({ id: 2, subscribe: { channel: chat } })
  expect(refused.error).toMatchObject({ code: 100, temporary: true })
  expect([problems, closed]).toEqual([['subscribe failed'], []])
  memory.failure = undefined
  expect((await ask({ id: 3, subscribe: { channel: chat } })).subscribe).toBeDefined()
})

test('a socket that closes while it subscribes leaves no subscription behind', async () => {
  const { connect, connection, send, hub, memory } = await openConnection()
  await connect()
  const answer = memory.hold()
  await send({ id: 2, subscribe: { channel: chat } })
  const [topic] = connection.topics
  expect(topic).toBe(chat)
  connection.closed()
  answer()
  await pass()
  expect(connection.subscriptions.size).toBe(0)
  hub.publish([memory.append(chat)])
  expect(await delivered()).toBe(0)
})

test('an unsubscribed topic sends nothing more', async () => {
  const { connect, ask, hub, memory } = await openConnection()
  await connect()
  await ask({ id: 2, subscribe: { channel: chat } })
  expect(await ask({ id: 3, unsubscribe: { channel: chat } })).toEqual({ id: 3, unsubscribe: {} })
  hub.publish([memory.append(chat)])
  expect(await delivered()).toBe(0)
})

test('a subscription is refreshed without effect, one that does not exist is refused', async () => {
  const { connect, ask } = await openConnection()
  await connect()
  expect((await ask({ id: 2, sub_refresh: { channel: own } })).error.code).toBe(103)
  await ask({ id: 3, subscribe: { channel: own } })
  expect(await ask({ id: 4, sub_refresh: { channel: own } })).toEqual({ id: 4, sub_refresh: {} })
})

test.each(['ben', `ana@${channelId}`])('a refresh with the token of %s closes', async (token) => {
  const { connect, send, closed } = await openConnection()
  await connect()
  await send({ id: 2, refresh: { token } })
  expect(closed).toEqual([closings.invalidToken.code])
})

test('a socket that closes while it refreshes has no timer left', async () => {
  const { timers } = stopTimers()
  const { connect, connection, send, holdVerification } = await openConnection()
  await connect()
  const verify = holdVerification()
  await send({ id: 2, refresh: { token: 'ana' } })
  connection.closed()
  verify()
  await pass()
  expect(timers()).toBe(0)
})

test('presence statistics count a user on two nodes once', async () => {
  const { connect, ask, connected } = await openConnection()
  await connect()
  expect(await ask({ id: 2, presence: { channel: chat } })).toEqual({ id: 2, presence: {} })
  const clients = ['1:ana', '2:ana', '1:ben'].map((client) => ({ user: client.slice(2), client }))
  connected.push(...clients)
  const { presence } = (await ask({ id: 3, presence: { channel: chat } })).presence
  expect(Object.values(presence)).toEqual(clients)
  expect((await ask({ id: 4, presence_stats: { channel: chat } })).presence_stats).toEqual({
    num_clients: 3,
    num_users: 2,
  })
})

test('a send has no reply, even if it has an id', async () => {
  const { connect, send, messages } = await openConnection()
  await connect()
  await send({ id: 2, send: {} }, { id: 3, unsubscribe: { channel: chat } })
  expect(messages().slice(1)).toEqual([{ id: 3, unsubscribe: {} }])
})

test('a subscription that must recover and cannot leaves its topic', async () => {
  const { connect, ask, hub, memory } = await openConnection()
  await connect()
  memory.appendSeveral(chat, 3)
  memory.forget(chat, 2)
  const recover = { recover: true, epoch: 'one', offset: 1, flag: 2 }
  const refused = await ask({ id: 2, subscribe: { channel: chat, ...recover } })
  expect([refused.error.code, hub.topics.get(chat)?.isEmpty]).toEqual([112, true])
})

test('history since a position needs no epoch, and refuses another one', async () => {
  const { connect, ask } = await openConnection()
  await connect()
  const since = (epoch: string) => ({ channel: chat, limit: 1, since: { offset: 0, epoch } })
  expect(await ask({ id: 2, history: since('') })).toMatchObject({ history: { epoch: 'one' } })
  expect(await ask({ id: 3, history: since('two') })).toMatchObject({ error: { code: 112 } })
})

test('a command that the node is too busy for is answered as such', async () => {
  const { connect, ask, node, closed } = await openConnection()
  await connect()
  node.admit = () => Promise.reject(new AdmissionError('busy'))
  const refused = await ask({ id: 2, history: { channel: chat, limit: 1 } })
  expect([refused.error.code, closed]).toEqual([111, []])
})

test('a token lasts a second at least; subscribing to the own topic loads counts', async () => {
  const { connect, ask, node, messages } = await openConnection()
  const claims = { ...ana, isAdmin: false, generation: 0, expiresAt: Date.now() / 1_000 + 0.2 }
  node.tokens.verify = async () => claims
  const loaded: string[] = []
  node.subscribed = (_, topic) => void loaded.push(topic)
  await connect()
  expect(messages()[0].connect.ttl).toBe(1)
  await ask({ id: 2, subscribe: { channel: own } })
  expect(loaded).toEqual([own])
})
