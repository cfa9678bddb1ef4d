import { ChatError, createChatServer } from '@parley/client/server'
import { expect, test } from 'vitest'
import { scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'
import { operations } from '../support/validated.ts'

const PRESENCE = /users\?ids/
const USERS = /^GET \/api\/users\?/

type Call = (args: object) => Promise<unknown>

/** How many requests a call makes if the first one gets no response. */
async function requestsOf(id: string, args: object = {}) {
  let requests = 0
  // At run time it has every operation, not only those for an API key.
  const api = createChatServer({
    url: 'http://test',
    apiKey: 'pk_test',
    fetch: async () => {
      requests++
      if (requests === 1) throw new TypeError('the connection was lost')
      return Response.json({})
    },
  }) as unknown as Record<string, Record<string, Call>>
  const [noun = '', name = ''] = id.split('.')
  await api[noun]?.[name]?.(args).catch((error) => expect(error).toBeInstanceOf(ChatError))
  return requests
}

test('a lost call is retried if, and only if, its operation is idempotent', async () => {
  // A body that was streamed is gone.
  const repeatable = operations.filter(([, op]) => op.streams === undefined)
  const retried = await Promise.all(
    repeatable.map(async ([id]) => [id, (await requestsOf(id)) === 2] as const),
  )
  expect(retried).toEqual(repeatable.map(([id, op]) => [id, op.idempotent]))
})

test('a lost call with a client id is retried', async () => {
  expect(await requestsOf('messages.send', { clientId: 'outbox-17' })).toBe(2)
  expect(await requestsOf('channels.create', { clientId: 'outbox-17' })).toBe(2)
})

test('every GET is idempotent, and so are exactly these other operations', () => {
  const idempotent = operations.filter(([, op]) => op.idempotent)
  const gets = operations.filter(([, op]) => op.method === 'GET')
  expect(idempotent).toEqual(expect.arrayContaining(gets))
  expect(idempotent.filter(([, op]) => op.method !== 'GET').map(([id]) => id)).toEqual([
    'apps.update',
    'apps.updateKey',
    'users.put',
    'channels.update',
    'channels.updateSettings',
    'members.update',
    'members.join',
    'messages.sendBatch',
    'messages.edit',
    'streams.append',
    'streams.finish',
    'reactions.add',
    'reactions.remove',
    'pins.pin',
    'pins.unpin',
    'reads.mark',
    'receipts.mark',
    'receipts.query',
    'sync.pull',
    'preferences.update',
    'webhooks.update',
    'webhooks.retry',
    'webhooks.replay',
    'hooks.setBeforeSend',
    'imports.run',
  ])
})

test('presence that could not be loaded is asked for again, after pauses that grow', async () => {
  const clock = stoppedClock()
  const { chat, data, count, refuseRequests } = scriptedChat()
  await chat.connect()
  data.online.add('ana')
  refuseRequests(PRESENCE, { status: 500 })
  const presence = chat.presence('ana')
  const stop = presence.subscribe(() => {})
  await clock.forward(60_000)
  expect(count(PRESENCE)).toBeGreaterThan(4)
  expect(count(PRESENCE)).toBeLessThan(12)
  refuseRequests()
  await clock.forward(30_000)
  expect(presence.getSnapshot().isOnline).toBe(true)
  const before = count(PRESENCE)
  refuseRequests(PRESENCE, { status: 403, code: 'FORBIDDEN' })
  stop()
  presence.subscribe(() => {})
  await clock.forward(60_000)
  expect(count(PRESENCE)).toBe(before + 1)
})

test('presence that failed is asked for after growing pauses, and not once offline', async () => {
  const clock = stoppedClock()
  const { chat, count, refuseRequests, bodies } = scriptedChat()
  await chat.connect()
  refuseRequests(USERS, { status: 503, code: 'UNAVAILABLE' })
  // Two requests each time: their failures count as one.
  for (let index = 0; index < 150; index++) chat.presence(`user${index}`).subscribe(() => {})
  for (let second = 0; second < 120; second++) await clock.forward(1_000)
  const asked = count(USERS)
  expect(asked).toBeGreaterThan(20)
  expect(asked).toBeLessThan(100)
  chat.disconnect()
  // Calls that are under way end with their last attempts.
  await clock.forward(15_000)
  const ended = count(USERS)
  await clock.forward(60_000)
  expect([clock.timers(), count(USERS)]).toEqual([0, ended])
  refuseRequests()
  await chat.connect()
  await clock.forward(250)
  // The call that catches up has room for a hundred, and one more is made for the others.
  expect(bodies.get('POST /api/sync')).toHaveProperty('userIds.length', 100)
  expect(count(USERS)).toBe(ended + 1)
})
