import type { ImportRecord } from '@parley/client/server'
import type { Tx } from '@parley/server/db/client'
import { transaction } from '@parley/server/db/transaction'
import { finishChannels, publish } from '@parley/server/features/imports/finish'
import { storePins, storeReactions } from '@parley/server/features/imports/marks'
import { storeMessages } from '@parley/server/features/imports/number'
import { expect, test } from 'vitest'
import {
  at,
  channel,
  channelIdOf,
  member,
  message,
  messageIdOf,
  post,
  user,
} from '../imports/records.ts'
import { erased } from '../support/cleanup.ts'
import { exportOf } from '../support/exported.ts'
import { waitingForRows, whileRowLocked } from '../support/locks.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

/** A file of these records; `isCut`: it ends within a line, so that nothing is shown yet. */
const send = (records: ImportRecord[], { isCut = false } = {}) =>
  post(
    world(),
    records.map((record) => `${JSON.stringify(record)}\n`).join('') + (isCut ? '{' : ''),
  )

async function erase(userId: string) {
  await world().backend.users.delete({ userId })
  await erased(world())
}

const rolesIn = async (id: string) => {
  const { members } = await world().backend.members.list({ channelId: channelIdOf(world(), id) })
  return Object.fromEntries(members.map(({ userId, role }) => [userId, role]))
}

/** Runs a step of an import, as at the end of its file. */
const step = <T>(work: (db: Tx) => Promise<T>) =>
  world().pool.use((connection) => transaction(connection, work))

/** Shows what a run has read that was cut in this channel. */
async function finish(channelId: string) {
  const { db, appId } = world()
  const [{ runId } = { runId: '' }] = await db<{ runId: string }[]>`
    select "row" ->> 'runId' as run_id
    from imported_rows
    where channel_id = ${channelId}
      and record = 'channel'`
  await finishChannels({ appId, runId, step, onRefusal: () => {} })
}

test('a group whose owner is erased before its import is finished gets another owner', async () => {
  const users = ['owen', 'mia', 'max', 'zoe'].map((id) => user(id))
  const owned = channel('owned', { createdBy: 'owen' })
  const all = [
    ...[...users, owned, member('owned', 'owen', { role: 'owner' })],
    ...[member('owned', 'max'), member('owned', 'mia', { role: 'moderator' })],
    ...[channel('early'), member('early', 'owen', { role: 'owner' })],
    ...[channel('shared'), member('shared', 'owen', { role: 'owner' })],
    ...[member('shared', 'max', { role: 'owner' }), member('shared', 'mia')],
    ...[channel('none'), member('none', 'owen'), member('none', 'max')],
  ]
  await send(all, { isCut: true })
  await erase('owen')
  // Other members come later, in the part of the file that was not read before.
  const later = [
    member('early', 'zoe', { joinedAt: at(2) }),
    member('early', 'max', { joinedAt: at(1) }),
  ]
  expect((await send([...all, ...later])).body.isFinished).toBe(true)
  expect(await rolesIn('owned')).toEqual({ mia: 'owner', max: 'member' })
  expect(await rolesIn('early')).toEqual({ max: 'owner', zoe: 'member' })
  expect(await rolesIn('shared')).toEqual({ max: 'owner', mia: 'member' })
  // A group that never had an owner is not given one.
  expect(await rolesIn('none')).toEqual({ max: 'member' })
  expect(await world().db`select from imported_rows`).toHaveLength(0)
})

test('an erasure beside an import leaves threads the counts of the replies left', async () => {
  const nora = { userId: 'nora' }
  const otto = { userId: 'otto' }
  const all = [
    ...[user('nora'), user('otto'), channel('threads'), member('threads', 'otto')],
    message('kept', 'threads', otto),
    message('hers', 'threads', nora),
    message('k1', 'threads', { ...nora, parentId: 'kept', createdAt: at(2) }),
    message('k2', 'threads', { ...otto, parentId: 'kept', createdAt: at(3) }),
    message('h1', 'threads', { ...nora, parentId: 'hers', createdAt: at(4) }),
    message('h2', 'threads', { ...otto, parentId: 'hers', createdAt: at(5) }),
    message('h3', 'threads', { ...otto, parentId: 'hers', createdAt: at(6) }),
  ]
  await send(all, { isCut: true })
  await erase('nora')
  expect((await send(all)).body.isFinished).toBe(true)
  const channelId = channelIdOf(world(), 'threads')
  const { messages } = await world().backend.messages.list({ channelId, since_seq: 0 })
  const roots = messages.filter(({ parentId }) => parentId === null)
  expect(roots.map(({ text, replyCount }) => [text, replyCount])).toEqual([
    ['kept', 1],
    ['', 2],
  ])
})

test('after an erasure no waiting reaction, pin or read position has the id', async () => {
  const by = { userId: 'rita', createdAt: at(3) }
  const records: ImportRecord[] = [
    ...[user('rita'), user('sam'), channel('marks'), member('marks', 'rita')],
    ...[member('marks', 'sam'), message('m1', 'marks', { userId: 'sam' })],
    message('m2', 'marks', { userId: 'rita' }),
    { record: 'reaction', messageId: 'm1', emoji: '👍', ...by },
    { record: 'reaction', messageId: 'm1', emoji: '👍', ...by, userId: 'sam' },
    { record: 'pin', messageId: 'm1', ...by },
    { record: 'read', channelId: 'marks', messageId: 'm1', ...by },
  ]
  await send(records, { isCut: true })
  // An import that was ended before it could notify the clients of members leaves these rows.
  await world().db`
    insert into imported_rows (app_id, record, key, channel_id, line, "row")
    select ${world().appId}, 'refresh', given.key, ${channelIdOf(world(), 'marks')}, 0, '{}'
    from unnest('{rita,sam}'::text[]) as given (key)`
  const waiting = () => world().db<{ record: string; isTheirs: boolean }[]>`
    select record, ir::text like '%rita%' as is_theirs
    from imported_rows ir
    order by record, key`
  expect((await waiting()).filter(({ isTheirs }) => isTheirs)).toHaveLength(5)
  await erase('rita')
  const left = await waiting()
  // The place of a message stays: it becomes a tombstone.
  expect(left.filter(({ isTheirs }) => isTheirs).map(({ record }) => record)).toEqual(['message'])
  expect(left.map(({ record }) => record)).toEqual([
    ...['channel', 'message', 'message', 'reaction', 'refresh'],
  ])
  await send(records)
  const sam = await world().user('sam')
  const channelId = channelIdOf(world(), 'marks')
  const { messages } = await sam.messages.list({ channelId, since_seq: 0 })
  expect(messages[0]?.reactions).toMatchObject([{ type: '👍', count: 1 }])
})

test('a reaction that was not stored does not make its user a former member', async () => {
  const records: ImportRecord[] = [
    ...[user('anna'), user('bob'), channel('gone'), member('gone', 'anna')],
    message('g1', 'gone', { userId: 'anna' }),
    { record: 'reaction', messageId: 'g1', emoji: '👍', userId: 'bob', createdAt: at(3) },
  ]
  await send(records, { isCut: true })
  await erase('anna')
  const { body } = await send(records)
  expect(body.isFinished).toBe(true)
  expect(body.refusals.map(({ reason }: { reason: string }) => reason)).toContain(
    'messageId: the message or the user was deleted during the import',
  )
  const kinds = (await exportOf(world(), 'bob')).map(({ kind }) => kind)
  expect(kinds).toEqual(['profile'])
})

test('the next user of an erased id gets no direct message that was imported for it', async () => {
  const records: ImportRecord[] = [
    ...[user('dora'), user('eve')],
    channel('pair', { type: 'messaging', name: undefined, memberIds: ['dora', 'eve'] }),
    message('p1', 'pair', { userId: 'eve' }),
  ]
  await send(records, { isCut: true })
  await erase('dora')
  const dora = await world().user('dora')
  expect((await send(records)).body.isFinished).toBe(true)
  const { id } = await dora.channels.create({ type: 'messaging', memberIds: ['eve'] })
  expect(id).not.toBe(channelIdOf(world(), 'pair'))
  expect((await dora.messages.list({ channelId: id })).messages).toEqual([])
})

test('a channel is shown with the members left by an erasure beside its import', async () => {
  const { db, appId, backend, cleanup } = world()
  const members = ['lou', 'mel'].map((id) => member('counted', id))
  await send([user('lou'), user('mel'), channel('counted'), ...members], { isCut: true })
  const channelId = channelIdOf(world(), 'counted')
  await db`
    update members
    set unread_after_seq = 0
    where app_id = ${appId}
      and channel_id = ${channelId}`
  await cleanup.run()
  const { shown } = await whileRowLocked(
    world(),
    (sql) => sql`
      select
      from members
      where channel_id = ${channelId}
        and user_id = 'lou'
      for update`,
    async () => {
      await backend.users.delete({ userId: 'lou' })
      await waitingForRows(world(), 1)
      const channels = [{ id: channelId, line: 1 }]
      const shown = step((tx) => publish(tx, { appId, channels }))
      await waitingForRows(world(), 2)
      return { shown }
    },
  )
  await shown
  await erased(world())
  expect(await backend.channels.get({ channelId })).toMatchObject({ memberCount: 1 })
})

test('no imported reaction or pin is stored for a message that is being erased', async () => {
  const { db, appId, backend, cleanup } = world()
  const by = { messageId: 'pinned', userId: 'otis', createdAt: at(3) }
  const records: ImportRecord[] = [
    ...[user('nell'), user('otis'), channel('pins'), member('pins', 'otis')],
    message('pinned', 'pins', { userId: 'nell' }),
    { record: 'reaction', emoji: '👍', ...by },
    { record: 'pin', ...by },
  ]
  await send(records, { isCut: true })
  const channelId = channelIdOf(world(), 'pins')
  const messageId = messageIdOf(world(), 'pinned')
  const query = { appId, channelIds: [channelId] }
  await step((tx) => storeMessages(tx, query))
  await cleanup.run()
  const { marked } = await whileRowLocked(
    world(),
    (sql) => sql`select from messages where id = ${messageId} for no key update`,
    async () => {
      await backend.users.delete({ userId: 'nell' })
      await waitingForRows(world(), 1)
      const marked = [storeReactions, storePins].map((store) => step((tx) => store(tx, query)))
      await Promise.race([Promise.all(marked), waitingForRows(world(), 3)])
      return { marked }
    },
  )
  await Promise.all(marked)
  await erased(world())
  await finish(channelId)
  const otis = await world().user('otis')
  expect((await otis.pins.list({ channelId })).messages).toEqual([])
  expect(
    await db`
      select
      from reactions
      where message_id = ${messageId}`,
  ).toEqual([])
  expect(await db`select from pins where message_id = ${messageId}`).toEqual([])
})
