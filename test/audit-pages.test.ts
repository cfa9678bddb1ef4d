import { randomUUID } from 'node:crypto'
import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { cleanupElsewhere } from './support/cleanup.ts'
import { openDatabaseProxy } from './support/database-proxy.ts'
import { upTo } from './support/events.ts'
import { quietTimings } from './support/quiet.ts'
import { discardPlans, type PlanKind, rowsReadBy } from './support/rows-read.ts'
import { ADMIN_KEY, createWorld, useWorld, type World } from './support/world.ts'

const world = useWorld({ poolSize: 1, timings: quietTimings })
type Page = { entries: { id: string }[]; nextCursor: string | null }

/** An app with this many entries, each about this many added members. */
async function createBusyApp(entries: number, members: number) {
  const { operator, db } = world()
  const { id: appId } = await operator.apps.create({ name: 'Large groups' })
  const userIds = upTo(members).map((n) => `${n}-`.padEnd(255, 'x'))
  const target = { channelId: appId, userIds, role: 'moderator' }
  await db`
    insert into audit (app_id, actor, user_id, operation, target, request_id)
    select ${appId}, 'user', 'ana', 'members.add', ${db.json(target)}, 'request-' || n
    from generate_series(1, ${entries}::int) n`
  return appId
}

async function ask({ url }: Pick<World, 'url'>, appId: string, cursor = '') {
  const query = `limit=200${cursor && `&cursor=${cursor}`}`
  const answer = await fetch(`${url}/admin/apps/${appId}/audit?${query}`, {
    headers: { 'X-Admin-Key': ADMIN_KEY },
  })
  const text = await answer.text()
  expect(answer.status, text.slice(0, 200)).toBe(200)
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limits.answerBytes)
  const page: Page = JSON.parse(text)
  return page
}

/** How many entries each page of the log has. */
async function walk(appId: string) {
  const ids: string[][] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page = await ask(world(), appId, cursor)
    ids.push(page.entries.map(({ id }) => id))
    cursor = page.nextCursor
  }
  expect(new Set(ids.flat()).size).toBe(ids.flat().length)
  return ids.map(({ length }) => length)
}

test('a page of the audit log ends after a megabyte, and its cursor continues', async () => {
  const few = await walk(await createBusyApp(40, limits.membersPerCall))
  expect(few.slice(0, 2)).toEqual([4, 4])
  expect(few.reduce((sum, count) => sum + count)).toBe(41)
  const many = await walk(await createBusyApp(220, 20))
  expect(many.reduce((sum, count) => sum + count)).toBe(221)
})

test('entries of the audit log that have no room in a page are not read', async () => {
  const appId = await createBusyApp(200, limits.membersPerCall)
  const proxy = await openDatabaseProxy(world().databaseUrl)
  const node = await createWorld({ databaseUrl: proxy.url })
  try {
    const before = proxy.answeredBytes()
    expect((await ask(node, appId)).entries).toHaveLength(4)
    expect(proxy.answeredBytes() - before).toBeLessThan(2 * limits.answerBytes)
  } finally {
    await node.stop()
    proxy.stop()
  }
})

test('a search for what was done to a user reads few megabytes at a time', async () => {
  const { operator, db } = world()
  const { id: appId } = await operator.apps.create({ name: 'Searched' })
  // Hexadecimal digits at random are stored in half their length.
  await db`
    insert into audit (app_id, actor, user_id, operation, target)
    select
      ${appId}, 'user', 'ana', 'members.add',
      jsonb_build_object('userIds', users.ids, 'channelId', n::text)
    from generate_series(1, 30) n
    cross join lateral (
      select jsonb_agg(md5(n || ' ' || m)) as ids
      from generate_series(1, 8000) m
    ) users`
  const pages: string[][] = []
  for (let cursor: string | undefined; ; ) {
    const page = await operator.audit.listOfApp({
      ...{ appId, targetId: '1' },
      ...(cursor !== undefined && { cursor }),
    })
    pages.push(page.entries.map(({ operation }) => operation))
    if (page.nextCursor === null) break
    cursor = page.nextCursor
  }
  expect(pages.length).toBeGreaterThan(3)
  expect(pages.length).toBeLessThan(15)
  expect(pages.flat()).toEqual(['members.add'])
})

test('the audit log is read back from a time, with entries that were noted late', async () => {
  const { operator, db } = world()
  const { id: appId } = await operator.apps.create({ name: 'Busy for an hour' })
  const start = '2026-01-01T14:00:00Z'
  // Entry 250 began ten seconds earlier than its id says, and was noted only then.
  await db`
    insert into audit (app_id, actor, operation, target, created_at)
    select
      ${appId}, 'key', 'messages.delete', '{}',
      ${start}::timestamptz + case when n = 250 then 239.5 else n end * interval '1 second'
    from generate_series(1, 3600) n`
  const createdBefore = '2026-01-01T14:04:00.000Z'
  const query = { appId, createdBefore, limit: 2 }
  const { entries, nextCursor } = await operator.audit.listOfApp(query)
  expect(entries.map(({ createdAt }) => createdAt)).toEqual([
    '2026-01-01T14:03:59.500Z',
    '2026-01-01T14:03:59.000Z',
  ])
  const next = await operator.audit.listOfApp({ ...query, cursor: nextCursor ?? '' })
  expect(next.entries[0]?.createdAt).toBe('2026-01-01T14:03:58.000Z')
  const all = await operator.audit.list({ createdBefore, limit: 1 })
  expect(all.entries).toEqual(entries.slice(0, 1))
  const ever = await operator.audit.listOfApp({ appId, createdBefore: start })
  expect(ever).toEqual({ entries: [], nextCursor: null })
  await db`
    insert into audit (app_id, actor, operation, target)
    select ${world().appId}, 'key', 'messages.delete', '{}'
    from generate_series(1, 20000) n`
  await db`analyze audit`
  await discardPlans(world())
  for (const plan of ['generic', 'custom'] satisfies PlanKind[]) {
    const rows = await rowsReadBy(world(), plan, () => operator.audit.listOfApp(query))
    expect(rows, plan).toBeLessThanOrEqual(1_000)
  }
})

test('the audit log is searched for what was done to a user or a thing', async () => {
  const { operator, backend, appId } = world()
  const [ana, ben, cem] = await world().users('about-ana', 'about-ben', 'about-cem')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'About' })
  await ana.members.add({ channelId, userIds: [ben.id, cem.id], role: 'moderator' })
  await ana.members.remove({ channelId, userId: cem.id })
  await backend.tokens.revoke({ userId: ben.id })
  const about = async (targetId: string) =>
    (await operator.audit.listOfApp({ appId, targetId })).entries.map(({ operation }) => operation)
  expect(await about(ben.id)).toEqual(['tokens.revoke', 'members.add'])
  expect(await about(cem.id)).toEqual(['members.remove', 'members.add'])
  expect(await about(channelId)).toEqual(['members.remove', 'members.add'])
  expect(await about(ana.id)).toEqual([])
  expect(await about('channelId')).toEqual([])
})

test('imported audit entries expire at their age, although younger ones were there', async () => {
  const { operator, db } = world()
  const appId = randomUUID()
  await db`insert into apps (id, name) values (${appId}, 'Imported')`
  await db`
    insert into audit (app_id, actor, operation, target, created_at)
    select ${appId}, 'system', 'day ' || days, '{}', now() - days * interval '1 day'
    from unnest(array[32, 31, 29]) days`
  await cleanupElsewhere(world(), { auditRetentionDays: 30 }).pass()
  const { entries } = await operator.audit.listOfApp({ appId })
  expect(entries.map(({ operation }) => operation)).toEqual(['day 29'])
})
