import { once } from 'node:events'
import { topics } from '@parley/contract'
import { UserSockets } from '@parley/server/realtime/sockets/user-sockets'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { RawSocket } from '../support/socket.ts'
import { until } from '../support/until.ts'
import { createWorld, useWorld } from '../support/world.ts'
import { useSocketUsers } from './sockets.ts'

const world = useWorld({ socketsPerUser: 2 })
const { ana, ben, opened, connected } = useSocketUsers(world)

test('a user has a limited number of sockets of both kinds, another after a close', async () => {
  const first = await connected()
  const second = new WebSocket(`${world().url.replace('http', 'ws')}/trpc?connectionParams=1`)
  onTestFinished(() => second.terminate())
  await once(second, 'open')
  second.send(JSON.stringify({ data: { token: ana().minted.wsToken } }))
  const input = { topic: topics.user(world().appId, 'ana') }
  const params = { path: 'events.topic', input }
  second.send(JSON.stringify({ id: 1, method: 'subscription', params }))
  await once(second, 'message')

  const third = await opened()
  third.send({ id: 1, connect: { token: ana().minted.wsToken } })
  expect(await third.closed).toEqual({ code: 4000, reason: 'too many connections' })
  await connected(ben())
  first.socket.close()
  await until(() => connected().catch(() => undefined))
  second.close()
  await until(() => connected().catch(() => undefined))
  const last = await opened()
  last.send({ id: 1, connect: { token: ana().minted.wsToken } })
  expect((await last.closed).code).toBe(4000)
})

test("the place of a user's last socket is free again, and a limit of 0 means no limit", () => {
  const user = { appId: 'app', userId: 'ana' }
  const sockets = new UserSockets({ user: 1 })
  expect([sockets.take(user), sockets.take(user)]).toEqual([true, false])
  sockets.release(user)
  expect(sockets.take(user)).toBe(true)
  const unlimited = new UserSockets({ user: 0 })
  expect([unlimited.take(user), unlimited.take(user)]).toEqual([true, true])
})

test('all users of an app share a limited number of sockets, and other apps have theirs', () => {
  const sockets = new UserSockets({ user: 0, app: 2 })
  const take = (appId: string, userId: string) => sockets.take({ appId, userId })
  expect([take('app', 'ana'), take('app', 'ben'), take('app', 'cem')]).toEqual([true, true, false])
  expect(take('other', 'ana')).toBe(true)
  sockets.release({ appId: 'app', userId: 'ana' })
  expect([take('app', 'cem'), take('app', 'ana')]).toEqual([true, false])
})

test('an app over its limit of sockets is refused like a user over theirs', async () => {
  const limited = await createWorld({ socketsPerApp: 1 })
  onTestFinished(limited.stop)
  const [one, two] = await limited.users('one', 'two')
  await RawSocket.connect(limited, one)
  const late = await RawSocket.open(limited)
  onTestFinished(() => late.socket.terminate())
  late.send({ id: 1, connect: { token: two.minted.wsToken } })
  expect((await late.closed).code).toBe(4000)
})
