import { defaultPreferences, limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { quietTimings } from './support/quiet.ts'
import { notFound, refusal } from './support/refusal.ts'
import { discardPlans, type PlanKind, rowsReadBy } from './support/rows-read.ts'
import { useWorld } from './support/world.ts'

const world = useWorld({
  poolSize: 1,
  timings: quietTimings,
})

const MESSAGES = 5_000
const START = Date.parse('2026-01-01T00:00:00Z')
const timeOf = (seq: number) => new Date(START + seq * 60_000).toISOString()

/** A channel with a message a minute, of ana and ben in turn, whose oldest are gone. */
async function fill() {
  const { db, appId } = world()
  const [ana, ben] = await world().users('inspected-ana', 'inspected-ben')
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Long',
    memberIds: [ben.id],
  })
  await db`
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, author_seq, text, mentions, attachments, created_at
    )
    select
      gen_random_uuid(), ${appId}, ${channelId},
      case when n % 2 = 0 then ${ana.id} else ${ben.id} end,
      n, n, n / 2, 'Message ' || n, '{}', '[]', ${timeOf(0)}::timestamptz + n * interval '1 minute'
    from generate_series(100, ${MESSAGES}::int) n`
  await db`
    update channels
    set last_seq = ${MESSAGES}, rev = ${MESSAGES}
    where app_id = ${appId}
      and id = ${channelId}`
  return { channelId, ana, ben }
}

test('the operator finds what was said before a time, and by whom, in a long channel', async () => {
  const { operator, appId } = world()
  const { channelId, ana } = await fill()
  const seqs = async (filter: { sentBefore?: string; userId?: string; cursor?: string }) =>
    (await operator.inspect.messages({ appId, channelId, limit: 3, ...filter })).messages.map(
      ({ seq }) => seq,
    )
  // Messages of that very time are left out, and earlier ones come newest first.
  expect(await seqs({ sentBefore: timeOf(1_234) })).toEqual([1_233, 1_232, 1_231])
  expect(await seqs({ sentBefore: timeOf(1_234.5) })).toEqual([1_234, 1_233, 1_232])
  expect(await seqs({ sentBefore: timeOf(1_234), userId: ana.id })).toEqual([1_232, 1_230, 1_228])
  expect(await seqs({ sentBefore: timeOf(100) })).toEqual([])
  expect(await seqs({ sentBefore: timeOf(101) })).toEqual([100])
  expect(await seqs({ sentBefore: timeOf(9_999) })).toEqual([5_000, 4_999, 4_998])
  const page = { appId, channelId, limit: 2, sentBefore: timeOf(1_234) }
  const { nextCursor } = await operator.inspect.messages(page)
  expect(await seqs({ sentBefore: page.sentBefore, cursor: nextCursor ?? '' })).toEqual([
    1_231, 1_230, 1_229,
  ])
  for (const sentBefore of ['yesterday', '0000-12-31T00:00:00Z'])
    expect(
      await refusal(operator.inspect.messages({ appId, channelId, sentBefore })),
    ).toMatchObject({ status: 400 })
  await world().db`analyze`
  await discardPlans(world())
  for (const plan of ['generic', 'custom'] satisfies PlanKind[]) {
    const read = () => operator.inspect.messages(page)
    expect(await rowsReadBy(world(), plan, read), plan).toBeLessThanOrEqual(100)
  }
})

test('the operator finds a message by a part of its text, however old it is', async () => {
  const { operator, appId } = world()
  const { channelId, ana, ben } = await fill()
  const search = async (filter: { q: string; userId?: string; sentBefore?: string }) => {
    const found: number[] = []
    let calls = 0
    for (let cursor: string | undefined; calls === 0 || cursor !== undefined; calls++) {
      const page = await operator.inspect.messages({
        appId,
        channelId,
        limit: 2,
        ...filter,
        ...(cursor && { cursor }),
      })
      found.push(...page.messages.map(({ seq }) => seq))
      cursor = page.nextCursor ?? undefined
    }
    return { found, calls }
  }
  const slices = Math.ceil((MESSAGES - 99) / limits.inspectSlice)
  const { found, calls } = await search({ q: 'mESSAGE 123' })
  expect(found).toEqual([...Array.from({ length: 10 }, (_, n) => 1_239 - n), 123])
  // A call ends with its two results, or with a slice that has fewer.
  expect(calls).toBeLessThanOrEqual(slices + found.length / 2)
  expect(await search({ q: 'ge 4999' })).toEqual({ found: [4_999], calls: slices })
  expect(await search({ q: 'message 12', userId: ben.id, sentBefore: timeOf(130) })).toMatchObject({
    found: [129, 127, 125, 123, 121],
  })
  expect((await search({ q: '%' })).found).toEqual([])
  // A number that is too large for a seq is after all of them.
  const cursor = Buffer.from('["99999999999",""]').toString('base64url')
  const { messages: newest } = await operator.inspect.messages({
    appId,
    channelId,
    limit: 1,
    cursor,
  })
  expect(newest).toMatchObject([{ seq: MESSAGES }])
  await ana.messages.send({ channelId, text: 'gone soon' })
  const { messages } = await ana.messages.list({ channelId, limit: 1 })
  await ana.messages.delete({ channelId, messageId: messages[0]?.id ?? '' })
  expect((await search({ q: 'gone soon' })).found).toEqual([])
  const tombstones = await operator.inspect.messages({ appId, channelId, limit: 1 })
  const deletedAt = expect.any(String)
  expect(tombstones.messages).toMatchObject([{ id: messages[0]?.id, text: '', deletedAt }])
  await world().db`analyze`
  await discardPlans(world())
  for (const plan of ['generic', 'custom'] satisfies PlanKind[]) {
    const read = () => operator.inspect.messages({ appId, channelId, q: 'nowhere' })
    const rows = await rowsReadBy(world(), plan, read)
    expect(rows, plan).toBeLessThanOrEqual(5 * limits.inspectSlice)
  }
})

test('channels of every type are found by name, open ones first', async () => {
  const { operator, db, api } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name: 'Many channels' })
  const backend = api({ apiKey })
  await backend.users.put({ userId: 'ana', name: 'Ana' })
  /** Adds channels with growing ids, as if they were created one after the other. */
  const add = (first: number, type: string, name: string, count: number) => db`
    insert into channels (id, app_id, cid, type, name, created_by)
    select
      ('00000000-0000-7000-8000-' || lpad(to_hex(${first}::int + n), 12, '0'))::uuid, ${appId},
      ${type} || ':' || ${name} || n, ${type}, ${name} || ' ' || n, 'ana'
    from generate_series(1, ${count}::int) n`
  await add(0, 'group', 'Harvest', 3)
  await add(10, 'public', 'Harvest market', 4)
  await add(20, 'group', 'Weather', 2 * limits.inspectSlice)
  const found: (string | null)[] = []
  let cursor: string | undefined
  let calls = 0
  do {
    const page = await operator.inspect.channels({
      appId,
      q: 'harVEST',
      limit: 2,
      ...(cursor && { cursor }),
    })
    found.push(...page.channels.map(({ name }) => name))
    cursor = page.nextCursor ?? undefined
    calls++
  } while (cursor !== undefined)
  expect(found).toEqual([
    ...[4, 3, 2, 1].map((n) => `Harvest market ${n}`),
    ...[3, 2, 1].map((n) => `Harvest ${n}`),
  ])
  expect(calls).toBeLessThanOrEqual(6)
  await db`analyze`
  await discardPlans(world())
  for (const plan of ['generic', 'custom'] satisfies PlanKind[]) {
    const read = () => operator.inspect.channels({ appId, q: 'harvest 2' })
    const rows = await rowsReadBy(world(), plan, read)
    expect(rows, plan).toBeLessThanOrEqual(5 * limits.inspectSlice)
  }
})

test('the operator finds a user by the id that a log line has', async () => {
  const { operator, appId } = world()
  await world().users('inspected-one', 'inspected-one-more')
  const find = async (userId: string) =>
    (await operator.inspect.users({ appId, userId })).users.map(({ id }) => id)
  expect(await find('inspected-one')).toEqual(['inspected-one'])
  expect(await find('inspected-o')).toEqual([])
  await world().backend.users.delete({ userId: 'inspected-one' })
  expect(await find('inspected-one')).toEqual([])
  expect(
    await refusal(operator.inspect.users({ appId, userId: 'inspected-one', q: 'one' })),
  ).toMatchObject({ status: 400 })
  const unknown = { appId: crypto.randomUUID(), userId: 'inspected-one-more' }
  expect(await refusal(operator.inspect.users(unknown))).toEqual(notFound)
})

test('the operator sees what decides whether a user is pushed to', async () => {
  const { operator, appId } = world()
  const [ana] = await world().users('inspected-ana', 'inspected-ben')
  const see = (userId: string) => operator.inspect.notifications({ appId, userId })
  expect(await see('inspected-ana')).toEqual({ preferences: defaultPreferences, devices: [] })
  const { id } = await ana.devices.create({ platform: 'ios', provider: 'apns', token: 'secret' })
  const quiet = { pushEnabled: false, quietHoursStart: '21:30' }
  await ana.preferences.update(quiet)
  const seen = await see('inspected-ana')
  expect(seen.preferences).toEqual({ ...defaultPreferences, ...quiet })
  expect(seen.devices).toEqual([
    { id, platform: 'ios', provider: 'apns', createdAt: expect.any(String) },
  ])
  const create = (name: string) =>
    ana.channels.create({ type: 'group', name, memberIds: ['inspected-ben'] })
  const [muted, loud] = [await create('Muted'), await create('Loud')]
  await ana.channels.updateSettings({ channelId: muted.id, muted: true })
  const mutedFor = async (query: object) => {
    const { channels } = await operator.inspect.channels({ appId, ...query })
    return [muted.id, loud.id].map((of) => channels.find(({ id }) => id === of)?.muted)
  }
  expect(await mutedFor({ userId: 'inspected-ana' })).toEqual([true, false])
  expect(await mutedFor({ userId: 'inspected-ben' })).toEqual([false, false])
  expect(await mutedFor({})).toEqual([null, null])
  // A namesake in another app has settings of their own.
  const other = await operator.apps.create({ name: 'Namesakes' })
  await world().api({ apiKey: other.apiKey }).tokens.create({
    userId: 'inspected-ana',
  })
  expect(
    await operator.inspect.notifications({ appId: other.id, userId: 'inspected-ana' }),
  ).toEqual({ preferences: defaultPreferences, devices: [] })
  expect(await refusal(see('inspected-nobody'))).toEqual(notFound)
  await world().backend.users.delete({ userId: 'inspected-ana' })
  expect(await refusal(see('inspected-ana'))).toEqual(notFound)
})
