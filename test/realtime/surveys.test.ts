import { topics } from '@parley/contract'
import { countOtherNodes } from '@parley/server/realtime/queries'
import { expect, onTestFinished, test } from 'vitest'
import { upTo } from '../support/events.ts'
import { whileRowLocked } from '../support/locks.ts'
import { RawSocket } from '../support/socket.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const NEVER = 1_000_000
const sent: string[] = []
const world = useWorld({
  timings: { reconcileMs: NEVER, beatMs: NEVER, lookMs: NEVER },
  onStatement: (statement) => void sent.push(statement),
})
const TOPICS = 20

test('the subscribers of many topics are found by few statements', async () => {
  const ana = await world().user('ana')
  const channels = await Promise.all(
    upTo(TOPICS).map(() => ana.channels.create({ type: 'group', name: 'Talk' })),
  )
  const sockets = await Promise.all(channels.map(() => RawSocket.connect(world(), ana)))
  onTestFinished(() => {
    for (const raw of sockets) raw.terminate()
  })
  const surveys = () => sent.filter((statement) => /from nodes n\s+where n\.id <>/.test(statement))
  // The first look at the other nodes lasts until all have asked.
  const asked = await whileRowLocked(
    world(),
    (sql) => sql`lock table nodes in access exclusive mode`,
    async () => {
      const replies = sockets.map((raw, index) => {
        const channel = topics.channel(world().appId, channels[index]?.id ?? '')
        return raw.ask({ id: 2, presence_stats: { channel } })
      })
      await until(() => surveys().length > 0)
      return replies
    },
  )
  for (const { presence_stats } of await Promise.all(asked)) expect(presence_stats).toEqual({})
  expect(surveys().length).toBeLessThan(TOPICS / 2)
})

test('a survey waits for a node that is late, and not for a dead one', async () => {
  const { db, pool } = world()
  const others = () => pool.use((sql) => countOtherNodes(sql, 'this node'))
  const before = await others()
  await db`
    insert into nodes (id, beat_at)
    values
      ('dead', now() - interval '50 seconds'),
      ('late', now() - interval '30 seconds')`
  onTestFinished(async () => {
    await db`delete from nodes where id in ('dead', 'late')`
  })
  // The database may have been away since the last heartbeat of those that live.
  expect(await others()).toBe(before + 1)
})
