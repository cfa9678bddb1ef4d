import { topics } from '@parley/contract'
import type { Tx } from '@parley/server/db/client'
import { expect, onTestFinished, test } from 'vitest'
import { whileRowLocked } from '../support/locks.ts'
import { centrifugeOf, listen } from '../support/realtime.ts'
import { until } from '../support/until.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()

test('members receive the deletion of a channel once it is stored, not before', async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  const create = (name: string) => ana.channels.create({ type: 'group', name, memberIds: ['ben'] })
  const [{ id: channelId }, other] = [await create('Going'), await create('Staying')]
  const client = centrifugeOf(world(), ben)
  onTestFinished(() => client.disconnect())
  const bens = await listen(client, topics.user(world().appId, 'ben'))
  const isWaiting = async () => {
    const waiting = await world().db`
      select
      from pg_locks
      where relation = 'audit'::regclass
        and not granted`
    return waiting.length > 0
  }
  // The entry of the audit log is written last.
  const lock = (sql: Tx) => sql`lock table audit in share mode`
  const { deleted } = await whileRowLocked(world(), lock, async () => {
    const deleted = ana.channels.delete({ channelId })
    await until(isWaiting)
    await ben.reads.mark({ channelId: other.id })
    await bens.untilType('channel.unread_changed')
    expect(bens.types).not.toContain('channel.deleted')
    return { deleted }
  })
  await deleted
  await bens.untilType('channel.deleted')
})

test('a change whose commit fails publishes no events', async () => {
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const client = centrifugeOf(world(), ana)
  onTestFinished(() => client.disconnect())
  const listener = await listen(client, topics.channel(world().appId, channelId))
  await world().db.unsafe(`
    create function refuse_commit() returns trigger language plpgsql as $$
      begin
        raise exception using errcode = 'deadlock_detected';
      end
    $$;
    create constraint trigger refuse_commit after update on channels
    deferrable initially deferred
    for each row when (new.name = 'Refused') execute function refuse_commit()`)
  onTestFinished(async () => {
    await world().db`drop function refuse_commit cascade`
  })
  await expect(ana.channels.update({ channelId, name: 'Refused' })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  })
  await ana.channels.update({ channelId, name: 'Stored' })
  await listener.untilType('channel.updated')
  expect(listener.received.map(({ envelope }) => envelope.payload)).toMatchObject([
    { channel: { name: 'Stored' } },
  ])
})
