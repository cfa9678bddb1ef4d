import { connectOnce } from '@parley/server/db/client'
import { transaction } from '@parley/server/db/transaction'
import { expect, test } from 'vitest'
import { until } from './support/until.ts'
import { useWorld, type World } from './support/world.ts'

const world = useWorld()

/** Lets no statement read who is online while `work` runs: the members of a sync wait for that. */
async function whileOnlineLocked<T>({ databaseUrl }: World, work: () => Promise<T>) {
  const other = connectOnce(databaseUrl)
  try {
    return await transaction(other, async (sql) => {
      await sql`lock table connections in access exclusive mode`
      return work()
    })
  } finally {
    await other.end()
  }
}

const readersThatWait = async ({ db }: World) => {
  const [row] = await db<{ count: number }[]>`
    select count(*)::int
    from pg_stat_activity
    where datname = current_database()
      and wait_event_type = 'Lock'
      and wait_event = 'relation'`
  return row?.count
}

test('a member removed amid a sync gets nothing that came after the removal', async () => {
  const [ana, ben] = await world().users('ana', 'ben', 'carl')
  const open = async (name: string) => {
    const { id } = await ana.channels.create({ type: 'group', name, memberIds: ['ben'] })
    await ana.messages.send({ channelId: id, text: 'Before' })
    return id
  }
  const [id, kept] = [await open('Left'), await open('Kept')]
  const contents = { pages: [id, kept], members: [id, kept] }
  const { late } = await whileOnlineLocked(world(), async () => {
    const late = ben.sync.pull({ channels: { [id]: 0, [kept]: 0 }, ...contents })
    await until(async () => (await readersThatWait(world())) === 1)
    await ana.members.remove({ channelId: id, userId: 'ben' })
    await ana.members.add({ channelId: id, userIds: ['carl'] })
    await ana.messages.send({ channelId: id, text: 'After' })
    return { late }
  })
  const { channels } = await late
  expect(channels[id]?.members?.map(({ userId }) => userId)).toBeUndefined()
  expect(channels[id]).toEqual({ removed: true })
  expect(channels[kept]).toMatchObject({
    messages: [{ text: 'Before' }],
    page: { messages: [{ text: 'Before' }] },
    members: [{ userId: 'ana' }, { userId: 'ben' }],
  })
})
