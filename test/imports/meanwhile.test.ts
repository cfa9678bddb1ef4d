import { randomUUID } from 'node:crypto'
import type { ImportRecord } from '@parley/client/server'
import { limits } from '@parley/contract'
import { selectChannelFacts, selectUserFacts } from '@parley/server/features/imports/facts'
import { expect, test } from 'vitest'
import { cleanupElsewhere, erased } from '../support/cleanup.ts'
import { upTo } from '../support/events.ts'
import { waitingForRows, whileRowLocked } from '../support/locks.ts'
import { refusal } from '../support/refusal.ts'
import { useWorld } from '../support/world.ts'
import { at, channel, channelIdOf, importInto, member, message, post, user } from './records.ts'

const world = useWorld()

test('a channel that a file has twice is refused once, for its first line', async () => {
  const { db, url, operator } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name: 'Moving in' })
  const direct = { type: 'messaging', name: undefined, memberIds: ['ana', 'max'] }
  const records = [
    ...[user('ana'), user('max'), channel('direct', direct), channel('direct', direct)],
    // The batch is full, so that it is stored before the file ends.
    ...upTo(limits.imports.batch.lines).map(() => user('ana')),
  ]
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  async function* file() {
    yield records.map((record) => `${JSON.stringify(record)}\n`).join('')
    await ended
  }
  const running = post({ url, apiKey }, ReadableStream.from(file()) as never)
  await expect
    .poll(
      () => db`
        select
        from channels
        where app_id = ${appId}`,
    )
    .toHaveLength(1)
  const ana = world().api({ apiKey, userId: 'ana' })
  await ana.channels.create({ type: 'messaging', memberIds: ['max'] })
  end()
  expect((await running).body.refusals).toEqual([
    { line: 3, reason: 'memberIds: the two have a direct message already' },
  ])
})

test('an import leaves a direct message that its two users began meanwhile, and ends', async () => {
  const { db, url, operator } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name: 'At once' })
  const pair = channel('both', { type: 'messaging', name: undefined, memberIds: ['sam', 'tom'] })
  await importInto({ url, apiKey }, [user('sam'), user('tom')])
  const id = randomUUID()
  const imported = await whileRowLocked(
    world(),
    (sql) => sql`
      insert into channels (id, app_id, cid, type, created_by, dm_key)
      values (${id}, ${appId}, 'messaging:both', 'messaging', 'sam', 'sam tom')`,
    async () => {
      const running = importInto({ url, apiKey }, [pair])
      await waitingForRows(world(), 1)
      return () => running
    },
  )
  expect(await imported()).toMatchObject({
    isFinished: true,
    refusals: [{ line: 1, reason: 'memberIds: the two have a direct message already' }],
  })
  const shown = await db<{ id: string }[]>`
    select id
    from channels
    where app_id = ${appId}
      and deleted_at is null`
  expect(shown).toEqual([{ id }])
})

test('a lease taken before the clock was set back blocks no import', async () => {
  const { db, url, operator } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name: 'Set back' })
  const until = (interval: string) => db`
    insert into imports as i (app_id, run_id, leased_until)
    values (${appId}, ${randomUUID()}, clock_timestamp() + ${interval}::interval)
    on conflict (app_id) do update set leased_until = excluded.leased_until`
  const run = () => importInto({ url, apiKey }, [user('ana')])
  await until('1 minute')
  expect(await refusal(run())).toMatchObject({ code: 'RATE_LIMITED' })
  await until('1 hour')
  expect((await run()).imported.users).toBe(1)
})

test('an import blocks other imports of its app for as long as it takes', async () => {
  const { db, url, operator } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name: 'Moving slowly' })
  const batch = upTo(limits.imports.batch.lines).map(() => `${JSON.stringify(user('ana'))}\n`)
  const ending = () => db`
    update imports
    set leased_until = clock_timestamp()
    where app_id = ${appId}
    returning true`
  const renewed = () => db`
    select
    from imports
    where app_id = ${appId}
      and leased_until > clock_timestamp()`
  async function* file() {
    yield batch[0]
    await expect.poll(ending).toHaveLength(1)
    yield batch.join('')
    await expect.poll(renewed).toHaveLength(1)
  }
  const { body } = await post({ url, apiKey }, ReadableStream.from(file()) as never)
  expect(body).toMatchObject({ isFinished: true, imported: { users: 1 } })
})

test('a user whose records are being stored is deleted after that', async () => {
  const { backend, appId } = world()
  await backend.users.put({ userId: 'named', name: 'Named' })
  const deletion = await whileRowLocked(
    world(),
    (db) => selectUserFacts(db, appId, ['named']),
    async () => {
      const deleted = backend.users.delete({ userId: 'named' })
      const waits = waitingForRows(world(), 1)
      const first = [deleted.then(() => 'deleted'), waits.then(() => 'waits')]
      expect(await Promise.race(first)).toBe('waits')
      return { deleted }
    },
  )
  expect(await deletion.deleted).toMatchObject({ success: true })
})

test('a channel whose records are being stored is purged after that', async () => {
  const { appId, cleanup, db } = world()
  const [ana] = await world().users('purging')
  const { id } = await ana.channels.create({ type: 'group', name: 'Purged' })
  // The call would wake the cleanup.
  await db`
    update channels
    set deleted_at = now()
    where app_id = ${appId}
      and id = ${id}`
  const { purged } = await whileRowLocked(
    world(),
    (sql) => selectChannelFacts(sql, appId, [id]),
    async () => {
      const purged = cleanup.run()
      const waits = waitingForRows(world(), 1)
      const first = [purged.then(() => 'purged'), waits.then(() => 'waits')]
      expect(await Promise.race(first)).toBe('waits')
      return { purged }
    },
  )
  await purged
  expect(await db`select from channels where id = ${id}`).toEqual([])
})

test('a channel imported without members is not purged before it could be joined', async () => {
  const { db, backend, appId } = world()
  await importInto(world(), [
    user('ana'),
    channel('stage', { type: 'livestream' }),
    message('welcome', 'stage'),
  ])
  const channelId = channelIdOf(world(), 'stage')
  const purge = () => cleanupElsewhere(world(), { purgeEmptyAfterDays: 30 }).pass()
  await purge()
  expect((await backend.messages.list({ channelId })).messages).toMatchObject([{ text: 'welcome' }])
  await db`
    update channels
    set updated_at = updated_at - interval '31 days'
    where id = ${channelId}
      and app_id = ${appId}`
  await purge()
  expect(await refusal(backend.messages.list({ channelId }))).toMatchObject({ code: 'NOT_FOUND' })
})

test('refusals found at the end are listed by line among the many before them', async () => {
  const shown = limits.imports.refusalsShown
  const reactions = upTo(limits.reactionKinds + 2).map(
    (n): ImportRecord => ({
      ...{ record: 'reaction', messageId: 'many1', emoji: `e${100 + n}`, userId: 'ana' },
      createdAt: at(2),
    }),
  )
  const records = [user('ana'), channel('many'), message('many1', 'many'), ...reactions]
  const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('')
  const { body } = await post(world(), `${lines}${'nonsense\n'.repeat(shown)}`)
  expect(body.refused).toBe(shown + 2)
  const first = records.length - 1
  expect(body.refusals.map(({ line }: { line: number }) => line)).toEqual(
    upTo(shown).map((n) => n + first - 1),
  )
  expect(body.refusals[1].reason).toMatch(/^emoji: a message can have at most/)
})

test.each([
  ['character', { text: 'あ' }, (whole: Buffer) => whole.lastIndexOf('あ') + 1],
  ['line that is too long', { text: 'x'.repeat(limits.imports.lineBytes) }, () => -9],
])('a file that is cut off within a %s is not whole', async (place, fields, end) => {
  const [id, first, last] = [place, `${place} 1`, `${place} 2`] as const
  const records = [user('ana'), channel(id), message(first, id)]
  const file = (some: ImportRecord[]) =>
    Buffer.from(some.map((record) => `${JSON.stringify(record)}\n`).join(''))
  const whole = file([...records, message(last, id, fields)])
  const cut = await post(world(), whole.subarray(0, end(whole)))
  expect(cut.body).toMatchObject({ isFinished: false, refused: 1 })
  const again = await post(world(), file([...records, message(last, id)]))
  expect(again.body).toMatchObject({ isFinished: true, refused: 0, imported: { messages: 1 } })
})

test('two who had a direct message get an imported one after one of them was deleted', async () => {
  const { backend } = world()
  const [uma] = await world().users('uma', 'vic')
  await uma.channels.create({ type: 'messaging', memberIds: ['vic'] })
  await backend.users.delete({ userId: 'vic' })
  await erased(world())
  await backend.users.put({ userId: 'vic', name: 'Vic' })
  const direct = { type: 'messaging', name: undefined, memberIds: ['uma', 'vic'] }
  const records = [channel('direct again', direct), channel('beside'), member('beside', 'uma')]
  expect(await importInto(world(), records)).toMatchObject({ isFinished: true, refused: 0 })
  const { channels } = await uma.channels.list({})
  const ids = ['direct again', 'beside'].map((id) => channelIdOf(world(), id))
  expect(channels.map(({ id }) => id)).toEqual(expect.arrayContaining(ids))
})

test('a direct message that an older server imported under a cid in use is shown', async () => {
  const { backend, db, appId } = world()
  const [wim] = await world().users('wim', 'xia')
  const { id, cid } = await wim.channels.create({ type: 'messaging', memberIds: ['xia'] })
  await backend.users.delete({ userId: 'xia' })
  await erased(world())
  await backend.users.put({ userId: 'xia', name: 'Xia' })
  const direct = { type: 'messaging', name: undefined, memberIds: ['wim', 'xia'] }
  const records = [channel('stuck', direct), message('s1', 'stuck', { userId: 'wim' })]
  await post(world(), `${records.map((record) => JSON.stringify(record)).join('\n')}\n{`)
  const stuckId = channelIdOf(world(), 'stuck')
  await db`
    update channels
    set cid = ${cid}
    where app_id = ${appId}
      and id = ${stuckId}`
  expect(await importInto(world(), records)).toMatchObject({ isFinished: true, refused: 0 })
  const { channels } = await wim.channels.list({})
  expect(channels.map(({ id }) => id).sort()).toEqual([id, stuckId].sort())
  expect(channels.find(({ id }) => id === stuckId)?.cid).toMatch(`${cid}-`)
})
