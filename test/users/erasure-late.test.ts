import { topics } from '@parley/contract'
import { expect, test } from 'vitest'
import { erased } from '../support/cleanup.ts'
import { dump } from '../support/dump.ts'
import { waitingForRows, whileRowLocked } from '../support/locks.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

const MARKER = 'Quokka-19fe'

test('rows stored while an erasure waits for the channel are erased, too', async () => {
  const { db, appId, backend, cleanup } = world()
  const ana = await world().user('ana', { name: `Ms ${MARKER}` })
  const { id: channelId } = await ana.channels.create({ type: 'public', name: 'Talk' })
  await world()
    .user('ben')
    .then((ben) => ben.members.join({ channelId }))
  await ana.members.leave({ channelId })
  // No earlier event leads it to the lock, only the end of all.
  await db`delete from events where topic = ${topics.channel(appId, channelId)}`
  // A pass that an earlier deletion has begun would not wait.
  await cleanup.run()
  await whileRowLocked(
    world(),
    (sql) => sql`select from channels where id = ${channelId} for update`,
    async (sql) => {
      await backend.users.delete({ userId: 'ana' })
      // The erasure has looked through all events without the lock, and now wants it.
      await waitingForRows(world(), 1)
      // As a call does that read the name before the deletion, and commits after it.
      const user = { id: 'ana', name: `Ms ${MARKER}`, image: null }
      const envelope = JSON.stringify({ type: 'reaction.removed', payload: { channelId, user } })
      await sql`
        with raised as (
          update channels
          set rev = rev + 1
          where id = ${channelId}
          returning rev
        )
        insert into events (topic, "offset", type, envelope)
        select ${topics.channel(appId, channelId)}, rev, 'reaction.removed', ${envelope}
        from raised`
    },
  )
  await erased(world())
  expect((await dump(world())).filter((row) => row.includes(MARKER))).toEqual([])
  const [last] = await db`
    select e.envelope::json #>> '{payload,user,name}' as name
    from events e
    where e.topic = ${topics.channel(appId, channelId)}
      and e.type = 'reaction.removed'`
  expect(last?.name).toBe('Deleted user')
})
