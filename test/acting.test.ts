import { createChatServer } from '@parley/client/server'
import type { AppRouter } from '@parley/contract'
import { createRevocations } from '@parley/server/core/revocations'
import { createActingUsers } from '@parley/server/http/acting-users'
import { createTRPCClient, httpBatchLink } from '@trpc/client'
import { expect, onTestFinished, test } from 'vitest'
import { stopClock } from './support/clock.ts'
import { channelEventsOf, userEventsOf } from './support/events.ts'
import { expectError, post } from './support/raw.ts'
import { forbidden, notFound, refusal, refusals } from './support/refusal.ts'
import { isElsewhere } from './support/statements.ts'
import { createWorld, useSharedWorld } from './support/world.ts'

const world = useSharedWorld()
const as = (userId: string) => world().api({ apiKey: world().apiKey, userId })
let groups = 0
/** Creates another group by `ownerId`, with users who may be new. */
async function createGroup(ownerId: string, memberIds: string[] = []) {
  await world().users(...memberIds)
  return as(ownerId).channels.create({ type: 'group', name: `Group ${++groups}`, memberIds })
}

test('a backend acts as a user, whom events name as the author', async () => {
  const ben = await world().user('ben', { name: 'Ben' })
  const server = createChatServer({ url: world().url, apiKey: world().apiKey })
  const { id: channelId } = await server.as('orders').channels.create({
    type: 'group',
    name: 'Order 7',
    memberIds: ['ben'],
  })
  const sent = await server.as('ben').messages.send({ channelId, text: 'Where is it?' })
  expect(sent).toMatchObject({ userId: 'ben', user: { id: 'ben', name: 'Ben' } })
  expect((await ben.messages.get({ channelId, messageId: sent.id })).text).toBe('Where is it?')
  expect(await ben.users.get({ userId: 'orders' })).toMatchObject({ id: 'orders', name: 'orders' })
})

test('events of a shared transaction say which of its callers is a backend', async () => {
  const ana = await world().user('ana')
  const { id: channelId } = await createGroup('bot', ['ana'])
  const text = (index: number) => `${index % 2 === 0 ? 'backend' : 'user'} ${index}`
  await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      (index % 2 === 0 ? as('ana') : ana).messages.send({ channelId, text: text(index) }),
    ),
  )
  const { messages } = await ana.messages.list({ channelId })
  const [first] = messages
  const messageId = first?.id ?? ''
  await as('ana').reactions.add({ channelId, messageId, emoji: '👍' })
  await ana.reactions.remove({ channelId, messageId, emoji: '👍' })
  const events = await channelEventsOf(world(), channelId)
  const origins = events.map(({ type, payload: { via, message } }) => [
    type,
    via,
    Object(message).text?.split(' ')[0],
  ])
  expect(new Set(origins.map(String))).toEqual(
    new Set([
      'channel.member_joined,backend,',
      'message.new,backend,backend',
      'message.new,,user',
      'reaction.added,backend,',
      'reaction.removed,,',
    ]),
  )
  const added = (await userEventsOf(world(), 'ana')).filter(
    ({ payload }) => Object(payload.channel).id === channelId,
  )
  expect(added.map(({ payload: { via } }) => via)).toEqual(['backend'])
})

test('a backend that acts as a user has the rights of that user and no others', async () => {
  const { id: channelId } = await createGroup('owner', ['member'])
  const { id: messageId } = await as('owner').messages.send({ channelId, text: 'hi' })
  await as('member').messages.send({ channelId, text: 'hello' })
  const stranger = await world().operator.apps.create({ name: 'Other' })
  const theirs = world().api({ apiKey: stranger.apiKey, userId: 'owner' })
  expect(
    await refusals([
      as('member').channels.delete({ channelId }),
      as('member').messages.delete({ channelId, messageId }),
      as('outsider').messages.list({ channelId }),
      theirs.messages.list({ channelId }),
    ]),
  ).toEqual([forbidden, forbidden, forbidden, notFound])
})

test('callers who act as the same unknown user at once make one user', async () => {
  const { id: channelId } = await as('host').channels.create({ type: 'public', name: 'Hall' })
  const sends = Array.from({ length: 6 }, (_, index) =>
    as('newcomer').messages.send({ channelId, text: `${index}` }),
  )
  const sent = await Promise.all(sends)
  expect(new Set(sent.map(({ userId }) => userId))).toEqual(new Set(['newcomer']))
  const { members } = await as('host').members.list({ channelId })
  expect(members.map(({ userId }) => userId)).toEqual(['host', 'newcomer'])
  const { users } = await world().backend.users.list({ q: 'newcomer' })
  expect(users.map(({ id, lastActiveAt }) => [id, lastActiveAt !== null])).toEqual([
    ['newcomer', true],
  ])
})

test('acting as a deleted user makes a new one, as new tokens do', async () => {
  const { id: channelId } = await createGroup('keeper', ['leaver'])
  await as('leaver').messages.send({ channelId, text: 'mine' })
  await world().backend.users.delete({ userId: 'leaver' })
  expect(await as('leaver').channels.list()).toMatchObject({ channels: [] })
  expect(await world().backend.users.get({ userId: 'leaver' })).toMatchObject({ name: 'leaver' })
  expect(await refusal(as('leaver').messages.send({ channelId, text: 'again' }))).toEqual(forbidden)
  const { messages } = await as('keeper').messages.list({ channelId })
  expect(messages).toEqual([])
})

test('a deletion of the user while a backend acts as them makes a new user', async () => {
  await as('phoenix').users.get({ userId: 'phoenix' })
  const { id: channelId } = await as('host').channels.create({ type: 'public', name: 'Ashes' })
  const deleting = world().backend.users.delete({ userId: 'phoenix' })
  const sends = Array.from({ length: 5 }, (_, index) =>
    as('phoenix').messages.send({ channelId, text: `${index}` }),
  )
  const outcomes = await Promise.all(sends)
  await deleting
  expect(outcomes.map(({ userId }) => userId)).toEqual(Array(5).fill('phoenix'))
})

test('a bad user id, one without a key, and one beside a token are UNAUTHORIZED', async () => {
  const { apiKey, url } = world()
  const { token } = await world().user('ana')
  const ask = async (headers: Record<string, string>, path = '/api/channels') =>
    expectError(await post(url, path, { method: 'GET', headers }), 'UNAUTHORIZED')
  const key = { 'X-API-Key': apiKey }
  for (const id of ['', 'a b', 'a/b', '..', 'ä', 'x'.repeat(256)])
    expect(await ask({ ...key, 'X-User-Id': id })).toBe('X-User-Id: expected a user id')
  const bearer = { Authorization: `Bearer ${token}` }
  const both = 'X-User-Id: expected X-API-Key, and no bearer token'
  expect(await ask({ ...bearer, 'X-User-Id': 'ana' })).toBe(both)
  expect(await ask({ ...bearer, ...key, 'X-User-Id': 'ana' })).toBe(both)
  expect(await ask({ 'X-User-Id': 'ana' })).toBe('X-API-Key: expected a valid API key')
  expect(await ask({ ...key, 'X-User-Id': 'ana' }, '/api/abandoned/channels')).toBe(
    'X-User-Id: this operation cannot be called as a user',
  )
  const { users } = await world().backend.users.list({ q: 'x'.repeat(200) })
  expect(users).toEqual([])
})

test('acting as users works over tRPC, in batches too', async () => {
  const { id: channelId } = await createGroup('trpc-owner', ['trpc-member'])
  const client = (userId: string) =>
    createTRPCClient<AppRouter>({
      links: [
        httpBatchLink({
          url: `${world().url}/trpc`,
          headers: { 'x-api-key': world().apiKey, 'x-user-id': userId },
        }),
      ],
    })
  const member = client('trpc-member')
  const sent = await Promise.all([
    member.messages.send.mutate({ channelId, text: 'one' }),
    member.messages.send.mutate({ channelId, text: 'two' }),
  ])
  expect(sent.map(({ userId }) => userId)).toEqual(['trpc-member', 'trpc-member'])
  const outside = client('trpc-outsider').messages.send.mutate({ channelId, text: 'three' })
  await expect(outside).rejects.toMatchObject({ data: { code: 'FORBIDDEN' } })
})

test('a flood of new users beyond the limit of a key asks the database for nothing', async () => {
  const statements: string[] = []
  const limited = await createWorld({
    rateLimits: { tokens: 0, messages: 0, requests: 3 },
    onStatement: (statement) => void statements.push(statement),
  })
  onTestFinished(limited.stop)
  const list = (userId: string) =>
    post(limited.url, '/api/channels', {
      method: 'GET',
      headers: { 'X-API-Key': limited.apiKey, 'X-User-Id': userId },
    })
  const flood = (name: string, count: number) =>
    Promise.all(Array.from({ length: count }, (_, index) => list(`${name}-${index}`)))
  expect((await flood('allowed', 3)).map(({ status }) => status)).toEqual([200, 200, 200])
  // A key is known for 5 s.
  stopClock()
  await flood('known', 1)
  statements.length = 0
  const refused = await flood('refused', 40)
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([429]))
  const asked = statements.filter((statement) => /\b(users|api_keys)\b/.test(statement))
  expect(asked.filter((statement) => !isElsewhere(statement))).toEqual([])
})

test('calls and sends that a backend makes as users count for its key', async () => {
  const limited = await createWorld({ rateLimits: { tokens: 0, messages: 1, requests: 5 } })
  onTestFinished(limited.stop)
  const { apiKey, url } = limited
  const [ana] = await limited.users('ana')
  const { id } = await ana.channels.create({ type: 'group', name: 'Talk', memberIds: [] })
  const send = (userId: string | undefined, clientId: string) =>
    post(url, `/api/channels/${id}/messages`, {
      headers: {
        'X-API-Key': apiKey,
        ...(userId !== undefined && { 'X-User-Id': userId }),
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({ text: 'hi', clientId }),
    })
  for (const [userId, clientId, remaining] of [
    [undefined, 'system', '4'],
    ['ana', 'a', '3'],
    ['ana', 'b', '2'],
    ['ana', 'c', '1'],
  ] as const)
    expect(await send(userId, clientId)).toMatchObject({
      status: 201,
      headers: { 'ratelimit-limit': '5', 'ratelimit-remaining': remaining },
    })
  expectError(await send('nobody', 'd'), 'FORBIDDEN')
  expectError(await send('ana', 'e'), 'RATE_LIMITED')
  expect((await send('ana', 'c')).status, 'a repeat is looked up').toBe(201)
  expect((await send(undefined, 'system')).status, 'a repeat of the backend too').toBe(201)
  await ana.messages.send({ channelId: id, text: 'my own limit' })
})

test('a user of a closed app is looked up again before a backend acts as them', async () => {
  const { operator, pool, db } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name: 'Closed' })
  await world().api({ apiKey }).users.put({ userId: 'ana' })
  const revocations = createRevocations()
  const actAs = createActingUsers({ db: pool, admit: (_, work) => work(), revocations })
  const created: string[] = []
  const act = (name: string) =>
    actAs(
      {
        caller: { appId, userId: 'ana', isAdmin: false },
        until: performance.now() + 60_000,
        create: async () => void created.push(name),
      },
      async () => {},
    )
  await act('while they are there')
  await db`
    update users
    set deleted_at = now()
    where app_id = ${appId}
      and id = 'ana'`
  revocations.publish({ appId, isClosed: true })
  await act('once they are gone')
  expect(created).toEqual(['once they are gone'])
})
