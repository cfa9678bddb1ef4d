import { limits } from '@parley/contract'
import { createKeyUses } from '@parley/server/core/key-uses'
import type { Tx } from '@parley/server/db/client'
import { expect, test, vi } from 'vitest'
import { upTo } from './support/events.ts'
import { waitingForRows, whileRowLocked } from './support/locks.ts'
import { forbidden, invalid, notFound, refusal, refusals, unauthorized } from './support/refusal.ts'
import { patient } from './support/until.ts'
import { createWorld, useWorld } from './support/world.ts'

const world = useWorld()
type Scope = 'full' | 'read' | 'mint'

async function newKey(key: { scopes?: Scope[]; name?: string; expiresAt?: string } = {}) {
  const { operator, api, appId } = world()
  const { apiKey, ...made } = await operator.apps.createKey({ appId, ...key })
  return { ...made, apiKey, keyId: made.id, backend: api({ apiKey }) }
}

test('a key for minting mints tokens, and does nothing else', async () => {
  const { backend, apiKey } = await newKey({ scopes: ['mint'] })
  await backend.tokens.create({ userId: 'ana' })
  const asAna = world().api({ apiKey, userId: 'ana' })
  const calls = [
    backend.users.list(),
    // Their token could change and delete the other users.
    backend.tokens.create({ userId: 'ana', admin: true }),
    backend.users.put({ userId: 'ana' }),
    backend.tokens.revoke({ userId: 'ana' }),
    asAna.channels.list(),
  ]
  expect(await refusals(calls)).toEqual(calls.map(() => forbidden))
})

test('a key for reading reads, and neither writes, mints, exports nor acts as a user', async () => {
  await world().user('ana')
  const { backend, apiKey } = await newKey({ scopes: ['read'] })
  expect((await backend.users.get({ userId: 'ana' })).id).toBe('ana')
  expect((await backend.webhooks.list()).webhooks).toEqual([])
  const calls = [
    backend.users.put({ userId: 'new' }),
    backend.users.export({ userId: 'ana' }),
    backend.tokens.create({ userId: 'ana' }),
    world().api({ apiKey, userId: 'unknown' }).channels.list(),
  ]
  expect(await refusals(calls)).toEqual(calls.map(() => forbidden))
  expect(await refusal(world().backend.users.get({ userId: 'unknown' }))).toEqual(notFound)
  const both = await newKey({ scopes: ['read', 'mint'] })
  await both.backend.users.list()
  await both.backend.tokens.create({ userId: 'ana' })
  expect(await refusal(both.backend.users.put({ userId: 'new' }))).toEqual(forbidden)
  const full = await newKey({ scopes: ['full', 'mint'] })
  await full.backend.tokens.create({ userId: 'ana', admin: true })
})

test('a key expires on every node, and works again once it expires later', async () => {
  const { operator, appId, databaseUrl } = world()
  const node = await createWorld({ databaseUrl })
  try {
    const { keyId, apiKey, backend } = await newKey()
    const there = node.api({ apiKey })
    await backend.users.list()
    await there.users.list()
    const expiresAt = new Date(Date.now() - 1_000).toISOString()
    await operator.apps.updateKey({ appId, keyId, expiresAt })
    expect(await refusal(backend.users.list())).toEqual(unauthorized)
    await vi.waitFor(
      async () => expect(await refusal(there.users.list())).toEqual(unauthorized),
      patient,
    )
    await operator.apps.updateKey({ appId, keyId, expiresAt: null })
    await backend.users.list()
    await operator.apps.updateKey({ appId, keyId, scopes: ['mint'] })
    expect(await refusal(backend.users.list())).toEqual(forbidden)
  } finally {
    await node.stop()
  }
})

test('a key that would have expired already is refused', async () => {
  const { operator, appId } = world()
  const { length } = (await operator.apps.listKeys({ appId })).keys
  const expiresAt = new Date(Date.now() - 60_000).toISOString()
  await expect(operator.apps.createKey({ appId, expiresAt })).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    message: 'expiresAt: expected a future time',
  })
  expect((await operator.apps.listKeys({ appId })).keys).toHaveLength(length)
  const later = new Date(Date.now() + 3_600_000).toISOString()
  await (await newKey({ expiresAt: later })).backend.users.list()
})

test('the first key of an app has a name, which lists of its keys show', async () => {
  const { operator } = world()
  const { id: appId, keyId } = await operator.apps.create({ name: 'First' })
  const { keys } = await operator.apps.listKeys({ appId })
  expect(keys).toMatchObject([{ id: keyId, name: 'First key', scopes: ['full'] }])
})

test('a key has a name and shows when it was last used, and is itself never shown', async () => {
  const { operator, appId } = world()
  const { keyId, apiKey, backend } = await newKey({ name: 'Billing' })
  const shown = async () => {
    const { keys } = await operator.apps.listKeys({ appId })
    expect(JSON.stringify(keys)).not.toContain(apiKey)
    return keys.find(({ id }) => id === keyId)
  }
  expect(await shown()).toMatchObject({
    name: 'Billing',
    scopes: ['full'],
    lastUsedAt: null,
    expiresAt: null,
  })
  await backend.users.list()
  await vi.waitFor(async () => expect((await shown())?.lastUsedAt).not.toBeNull(), patient)
  const { keys } = await operator.apps.get({ appId })
  expect(keys.find(({ id }) => id === keyId)).toEqual(await shown())
  const { name } = await operator.apps.updateKey({ appId, keyId, name: null })
  expect(name).toBeNull()
})

test('a server that stops writes which keys were used in the last seconds', async () => {
  const { operator, databaseUrl } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name: 'Stopped' })
  const node = await createWorld({ databaseUrl })
  await node.api({ apiKey }).users.list()
  await node.stop()
  const { keys } = await operator.apps.listKeys({ appId })
  expect(keys).toMatchObject([{ lastUsedAt: expect.any(String) }])
})

test('a node writes when a key was last used once a minute, however often it is', async () => {
  const { db, pool } = world()
  const { keyId } = await newKey()
  const { touch, flush } = createKeyUses(pool)
  touch(keyId)
  await flush()
  const aged = await db<{ at: string }[]>`
    update api_keys
    set last_used_at = now() - interval '1 hour'
    where id = ${keyId}
      and last_used_at is not null
    returning last_used_at::text as at`
  expect(aged).toHaveLength(1)
  touch(keyId)
  await flush()
  const kept = await db`
    select last_used_at::text as at
    from api_keys
    where id = ${keyId}`
  expect(kept).toEqual(aged)
})

test('writing when keys were used does not wait for a key that is being changed', async () => {
  const { db, pool } = world()
  const [changing, free] = [await newKey(), await newKey()]
  const { touch, flush } = createKeyUses(pool)
  for (const { keyId } of [changing, free]) touch(keyId)
  const lock = (sql: Tx) => sql`
    select
    from api_keys
    where id = ${changing.keyId}
    for update`
  await whileRowLocked(world(), lock, flush)
  const used = await db<{ id: string }[]>`
    select id
    from api_keys
    where id = any(${[changing.keyId, free.keyId]}::uuid[])
      and last_used_at is not null`
  expect(used.map(({ id }) => id)).toEqual([free.keyId])
})

test('keys belong to their app, and unknown scopes and impossible times are refused', async () => {
  const { operator, appId } = world()
  const { keyId } = await newKey()
  const other = await operator.apps.create({ name: 'Other' })
  const change = (changes: object) => operator.apps.updateKey({ appId, keyId, ...changes })
  expect(await refusal(change({ appId: other.id, name: 'Theirs' }))).toEqual(notFound)
  expect(await refusal(operator.apps.listKeys({ appId: keyId }))).toEqual(notFound)
  expect(await refusal(change({ scopes: [] }))).toEqual(invalid)
  expect(await refusal(change({ scopes: ['write'] }))).toEqual(invalid)
  expect(await refusal(change({ expiresAt: '0000-02-29T20:00:00Z' }))).toEqual(invalid)
})

test('an app has at most a hundred keys, however many are made at once', async () => {
  const { operator, db } = world()
  const { id: appId } = await operator.apps.create({ name: 'Many' })
  await db`
    insert into api_keys (id, app_id, hash)
    select gen_random_uuid(), ${appId}, 'many ' || n
    from generate_series(1, ${limits.apiKeys - 2}::int) n`
  const lockApp = (sql: Tx) => sql`
    select
    from apps
    where id = ${appId}
    for update`
  const { outcomes } = await whileRowLocked(world(), lockApp, async () => {
    const asked = upTo(3).map(() => operator.apps.createKey({ appId }))
    const outcomes = Promise.allSettled(asked)
    await waitingForRows(world(), asked.length)
    return { outcomes }
  })
  const made = (await outcomes).filter(({ status }) => status === 'fulfilled')
  expect(made).toHaveLength(1)
  expect((await operator.apps.listKeys({ appId })).keys).toHaveLength(limits.apiKeys)
})

test('keys are listed in the order of their creation, whichever was used last', async () => {
  const { operator } = world()
  const { id: appId, keyId } = await operator.apps.create({ name: 'Ordered' })
  const made = [keyId]
  for (const _ of [1, 2, 3, 4]) made.push((await operator.apps.createKey({ appId })).id)
  // A use, which has an index, moves the row in the table and in all indexes: the last one first.
  for (const id of [...made].reverse())
    await world().db`update api_keys set last_used_at = now() where id = ${id}`
  const { keys } = await operator.apps.listKeys({ appId })
  expect(keys.map(({ id }) => id)).toEqual(made)
})

test('a key has each scope once, however often it is given', async () => {
  const { operator } = world()
  const { id: appId } = await operator.apps.create({ name: 'Scopes' })
  const scopes: ('read' | 'mint')[] = ['read', 'mint', 'read']
  const key = await operator.apps.createKey({ appId, scopes })
  expect(key.scopes).toEqual(['read', 'mint'])
  const changed = await operator.apps.updateKey({ appId, keyId: key.id, scopes: scopes.reverse() })
  expect(changed.scopes).toEqual(['read', 'mint'])
})
