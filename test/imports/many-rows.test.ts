import type { ImportRecord } from '@parley/client/server'
import { UNSET_MARKER } from '@parley/server/features/imports/store'
import { expect, test } from 'vitest'
import { upTo } from '../support/events.ts'
import { insertUsers } from '../support/inserted.ts'
import { NEVER } from '../support/quiet.ts'
import { rowsReadBy } from '../support/rows-read.ts'
import { useWorld } from '../support/world.ts'
import {
  at,
  channel,
  channelIdOf,
  importInto,
  member,
  message,
  messageIdOf,
  post,
} from './records.ts'

const world = useWorld({
  poolSize: 1,
  timings: { reconcileMs: NEVER, beatMs: NEVER, lookMs: NEVER, pingMs: NEVER },
})

test('importing reactions to one message does not read the earlier ones for each', async () => {
  await world().user('ana')
  const fans = await insertUsers(world(), 'fan-', 2_000)
  let files = 0
  const insertReactions = async () => {
    files += 1
    const [talk, hit] = [`talk-${files}`, `hit-${files}`]
    const reactions = fans.map(
      (userId): ImportRecord => ({
        record: 'reaction',
        ...{ messageId: hit, userId, emoji: '👍', createdAt: at(2) },
      }),
    )
    const before = [channel(talk), member(talk, 'ana'), message(hit, talk)]
    const report = await importInto(world(), [...before, ...reactions])
    expect(report).toMatchObject({ isFinished: true, refused: 0 })
  }
  expect(await rowsReadBy(world(), 'generic', insertReactions)).toBeLessThan(200_000)
  const [counted] = await world().db<{ count: number }[]>`
    select count
    from reaction_counts
    where message_id = ${messageIdOf(world(), 'hit-1')}`
  expect(counted?.count).toBe(2_000)
})

test('finishing many channels does not read the members of earlier ones again', async () => {
  const { db, appId } = world()
  const channels = upTo(20).map((n) => `${n}`)
  const userIds = await insertUsers(world(), 'many-', 490)
  let files = 0
  const finish = async () => {
    files += 1
    const names = channels.map((n) => `many-${files}-${n}`)
    const file = names.map((name) => channel(name))
    await post(world(), `${file.map((record) => JSON.stringify(record)).join('\n')}\n{`)
    const ids = names.map((name) => channelIdOf(world(), name))
    // Without statistics, the foreign keys of the next rows may be checked by a worse index.
    await db`analyze channels, users`
    await db`
      insert into members (app_id, channel_id, user_id, role, unread_after_seq)
      select ${appId}, channel_id, user_id, 'member', ${UNSET_MARKER}
      from unnest(${ids}::uuid[]) channel_id, unnest(${userIds}::text[]) user_id`
    expect(await importInto(world(), file)).toMatchObject({ isFinished: true, refused: 0 })
  }
  const rows = await rowsReadBy(world(), 'generic', finish)
  expect(rows).toBeLessThan(450_000)
  const unset = await db`
    select
    from members
    where unread_after_seq = ${UNSET_MARKER}`
  expect(unset).toHaveLength(0)
})
