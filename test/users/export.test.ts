import { limits } from '@parley/contract'
import { exportParts } from '@parley/server/features/users/export-parts'
import { expect, test } from 'vitest'
import { channel, member, message, post, user } from '../imports/records.ts'
import { erased } from '../support/cleanup.ts'
import { upTo } from '../support/events.ts'
import { exportOf, type Item } from '../support/exported.ts'
import { unknownId } from '../support/ids.ts'
import { withoutCleanup } from '../support/locks.ts'
import { complaint, invalid, notFound, refusal, unauthorized } from '../support/refusal.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

const of = (items: Item[], kind: string) =>
  items.filter((item) => item.kind === kind).map(({ data }) => data)

test('an export has everything of the user, nothing of others and no secret', async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  await ana.users.put({ userId: 'ana', email: 'ana@example.com', custom: { plan: 'pro' } })
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Exported',
    memberIds: ['ben'],
  })
  const { id: leftId } = await ana.channels.create({ type: 'group', name: 'Left' })
  await ana.messages.send({ channelId: leftId, text: 'before I left' })
  await ana.members.leave({ channelId: leftId })
  const theirs = await ben.messages.send({ channelId, text: 'the words of ben' })
  await Promise.all(upTo(205).map((n) => ana.messages.send({ channelId, text: `mine ${n}` })))
  await ana.reactions.add({ channelId, messageId: theirs.id, emoji: '👍' })
  await ana.reactions.add({ channelId, messageId: theirs.id, emoji: '❤️' })
  await ana.reads.mark({ channelId, messageId: theirs.id })
  await ben.reads.mark({ channelId, messageId: theirs.id })
  await ana.pins.pin({ channelId, messageId: theirs.id })
  const other = await ben.messages.send({ channelId, text: 'pinned by ben' })
  await ben.pins.pin({ channelId, messageId: other.id })
  await ana.devices.create({ platform: 'ios', provider: 'apns', token: 'secret-push-token' })
  const { id: workspaceId } = await ana.workspaces.create({ name: 'Team', type: 'team' })
  const items = await exportOf(world(), 'ana')
  expect(of(items, 'profile')).toMatchObject([
    { id: 'ana', email: 'ana@example.com', custom: { plan: 'pro' } },
  ])
  expect(of(items, 'device')).toMatchObject([{ platform: 'ios', provider: 'apns' }])
  expect(of(items, 'workspace')).toMatchObject([{ workspaceId, role: 'owner' }])
  expect(of(items, 'membership')).toMatchObject([{ channelId, role: 'owner' }])
  const texts = of(items, 'message').map(({ text }) => text)
  expect(texts.toSorted()).toEqual(
    [...upTo(205).map((n) => `mine ${n}`), 'before I left'].toSorted(),
  )
  expect(of(items, 'reaction').map(({ emoji }) => emoji)).toEqual(
    expect.arrayContaining(['👍', '❤️']),
  )
  const reads = of(items, 'read').map(({ channelId, seq }) => `${channelId} ${seq}`)
  expect(reads.join()).toContain(channelId)
  expect(new Set(reads).size).toBe(reads.length)
  expect(of(items, 'pin')).toEqual([
    { channelId, messageId: theirs.id, pinnedAt: expect.stringMatching(/^\d{4}-.*Z$/) },
  ])
  expect(of(items, 'formerMembership')).toEqual([{ channelId: leftId, isCreator: true }])
  expect(JSON.stringify(items)).not.toMatch(/secret-push-token|the words of ben/)
  const stream = await fetch(`${world().url}/api/users/ana/export`, {
    headers: { 'X-API-Key': world().apiKey, Accept: 'application/x-ndjson, */*;q=0.5' },
  })
  expect(stream.headers.get('content-type')).toBe('application/x-ndjson')
  const lines = (await stream.text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.at(-1)).toEqual({ kind: 'end' })
  expect(lines.slice(0, -1).filter(({ kind }) => kind !== 'cursor')).toEqual(items)
  // Each export is noted once, however many pages it has.
  const noted = { appId: world().appId, operation: 'users.export' }
  const { entries } = await world().operator.audit.listOfApp(noted)
  expect(entries.filter(({ target }) => target.userId === 'ana')).toHaveLength(2)
})

test('things that fill several pages of an export are in it once', async () => {
  const { db, appId } = world()
  const eli = await world().user('eli')
  await db`
    insert into devices (id, app_id, user_id, platform, provider, token)
    select gen_random_uuid(), ${appId}, 'eli', 'ios', 'apns', 'of-eli-' || n
    from generate_series(1, ${limits.exportPage + 5}) n`
  // The user has left this channel and joined it again.
  const { id: channelId } = await eli.channels.create({ type: 'public', name: 'Back' })
  await eli.messages.send({ channelId, text: 'once' })
  await eli.members.leave({ channelId })
  await eli.members.join({ channelId })
  const items = await exportOf(world(), 'eli')
  expect(of(items, 'message')).toHaveLength(1)
  const ids = of(items, 'device').map(({ id }) => id)
  expect(new Set(ids).size).toBe(limits.exportPage + 5)
  expect(ids).toHaveLength(limits.exportPage + 5)
})

test('a page of an export has about a megabyte, and large messages are in it once', async () => {
  const cleo = await world().user('cleo')
  const { id: channelId } = await cleo.channels.create({ type: 'group', name: 'Large' })
  const text = '🦄'.repeat(10_000)
  await Promise.all(upTo(60).map(() => cleo.messages.send({ channelId, text })))
  const first = await world().backend.users.export({ userId: 'cleo' })
  const items = await exportOf(world(), 'cleo')
  const seqs = of(items, 'message').map(({ seq }) => seq)
  expect(seqs).toEqual(upTo(60))
  expect(first.nextCursor).not.toBeNull()
  expect(Buffer.byteLength(JSON.stringify(first))).toBeLessThan(2 * 2 ** 20)
})

test('only a backend exports users, of its own app, and each export is noted once', async () => {
  const { api, backend, stranger, operator, appId } = world()
  const dan = await world().user('dan')
  expect(await refusal(dan.users.export({ userId: 'dan' }))).toEqual(unauthorized)
  expect(await refusal((await stranger()).users.export({ userId: 'dan' }))).toEqual(notFound)
  expect(await refusal(api({}).users.export({ userId: 'dan' }))).toEqual(unauthorized)
  await exportOf(world(), 'dan')
  const { entries } = await operator.audit.listOfApp({ appId, operation: 'users.export' })
  expect(entries.filter(({ target }) => target.userId === 'dan')).toHaveLength(1)
  await backend.users.delete({ userId: 'dan' })
  expect(await refusal(backend.users.export({ userId: 'dan' }))).toEqual(notFound)
})

/** A cursor in the form of those that the server makes. */
const forged = (page: string, key: string) =>
  Buffer.from(JSON.stringify([page, key])).toString('base64url')
const key = (second: string) => `${unknownId}:${second}`

type Note = { userId: string; keyId: string; age?: string; operation?: string }

/** The id of an entry of the log, as of an export that has begun. */
async function note({ userId, keyId, age = '23 hours', operation = 'users.export' }: Note) {
  const { db, appId } = world()
  const [entry] = await db`
    insert into audit (app_id, actor, key_id, operation, target, created_at)
    values (
      ${appId}, 'key', ${keyId},
      ${operation}, ${db.json({ userId })}, now() - ${age}::interval
    )
    returning id`
  return String(entry?.id)
}

test('a later page of an export is read only with a cursor of a noted export', async () => {
  const { api, appId, operator } = world()
  await world().users('eva', 'finn')
  const begins = (name: string) => operator.apps.createKey({ appId, name })
  const [ours, other] = [await begins('Ours'), await begins('Another')]
  const eva = { userId: 'eva', keyId: ours.id }
  const noted = await note(eva)
  const unnoted = [
    ...['0', String(Number(noted) + 1_000_000)],
    await note({ ...eva, userId: 'finn' }),
    await note({ ...eva, keyId: other.id }),
    await note({ ...eva, age: '25 hours' }),
    await note({ ...eva, operation: 'tokens.create' }),
  ]
  const { users } = api({ apiKey: ours.apiKey })
  const page = (cursor: string) => users.export({ userId: 'eva', cursor })
  expect(await page(forged(`${noted}:8`, key('0')))).toEqual({ items: [], nextCursor: null })
  for (const cursor of unnoted.map((id) => forged(`${id}:8`, key('0'))))
    expect(await complaint(page(cursor)), cursor).toBe(
      'cursor: expected that of a page of the last 24 hours, by the same API key',
    )
  for (const cursor of [
    ...[forged('8', key('0')), forged(':8', key('0')), forged(`${noted}:-1`, key('0'))],
    ...[forged(`${noted}:${exportParts.length}`, key('0')), forged(`${noted}:5`, key('-1'))],
    ...[forged(`${noted}:5`, key('99999999999')), forged(`${noted}:5`, key('9999999999'))],
    ...[forged(`${noted}:5`, 'x:1'), 'x'],
  ])
    expect(await refusal(page(cursor)), cursor).toEqual(invalid)
})

test('an export leaves out what an import has not finished, and imports are counted', async () => {
  const records = [
    user('imported'),
    channel('hidden'),
    member('hidden', 'imported'),
    message('h1', 'hidden', { userId: 'imported' }),
  ]
  const whole = records.map((record) => `${JSON.stringify(record)}\n`).join('')
  const kinds = async () => (await exportOf(world(), 'imported')).map(({ kind }) => kind)
  await post(world(), `${whole}{`)
  expect(await kinds()).toEqual(['profile'])
  await post(world(), whole)
  expect(await kinds()).toEqual(['profile', 'membership', 'message'])
  const { imports, importsRunning, importedRecords } = world().metrics
  const all = await Promise.all([imports.get(), importsRunning.get(), importedRecords.get()])
  const counts = all.flatMap(({ values }) =>
    values.map((each) => [each.labels.outcome, each.value]),
  )
  expect(Object.fromEntries(counts)).toEqual({
    ...{ unfinished: 1, finished: 1, undefined: 0 },
    ...{ imported: 4, skipped: 4, refused: 1 },
  })
})

test('the export of an id that was used before has nothing of the user before', async () => {
  const { backend, db } = world()
  const gil = await world().user('gil')
  const { id: channelId } = await gil.channels.create({ type: 'public', name: 'Twice used' })
  await world()
    .user('hub')
    .then((hub) => hub.members.join({ channelId }))
  await gil.messages.send({ channelId, text: 'of the first' })
  await backend.users.delete({ userId: 'gil' })
  await erased(world())
  const again = await world().user('gil')
  await again.members.join({ channelId })
  const { id } = await again.messages.send({ channelId, text: 'deleted by the second' })
  await again.messages.delete({ channelId, messageId: id })
  await again.messages.send({ channelId, text: 'of the second' })
  const messages = of(await exportOf(world(), 'gil'), 'message')
  expect(messages.map(({ text, seq }) => [text, seq])).toEqual([
    ['', 2],
    ['of the second', 3],
  ])
  const tombstones = await db`
    select seq
    from messages
    where channel_id = ${channelId}
      and deleted_at is not null`
  expect(tombstones).toHaveLength(2)
})

test('an export has nothing of channels that were deleted', async () => {
  const [ida, jan] = await world().users('ida', 'jan')
  const memberIds = ['jan']
  const { id: channelId } = await ida.channels.create({ type: 'group', name: 'Gone', memberIds })
  const { id: messageId } = await ida.messages.send({ channelId, text: 'hello' })
  await jan.messages.send({ channelId, text: 'hello Ida' })
  await jan.reactions.add({ channelId, messageId, emoji: '👍' })
  await jan.reads.mark({ channelId })
  await jan.pins.pin({ channelId, messageId })
  const { id: leftId } = await ida.channels.create({ type: 'group', name: 'Left', memberIds })
  await jan.members.leave({ channelId: leftId })
  await withoutCleanup(world(), async () => {
    for (const id of [channelId, leftId]) await ida.channels.delete({ channelId: id })
    expect((await exportOf(world(), 'jan')).map(({ kind }) => kind)).toEqual(['profile'])
  })
})
