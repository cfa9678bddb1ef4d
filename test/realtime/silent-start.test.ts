import { createPostgresBroker } from '@parley/server/realtime/postgres-broker'
import { expect, onTestFinished, test } from 'vitest'
import { silentAt } from '../support/silent-line.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

const listeners = () => world().db`
  select
  from pg_stat_activity
  where datname = current_database()
    and application_name like 'parley-listener%'`

test('a node starts although its first connection that listens falls silent', async () => {
  const before = (await listeners()).length
  const { url, silenced } = await silentAt('listen "', world().databaseUrl)
  const problems: string[] = []
  const broker = createPostgresBroker({
    url,
    nodeId: 'silent-start',
    report: (_, problem) => void problems.push(problem),
    timings: { brokerBeatMs: 100, brokerSilenceMs: 1_000 },
  })
  onTestFinished(broker.stop)
  await broker.start({ onNote: () => {}, onMissedNotes: () => {} })
  expect(silenced()).toBeGreaterThan(0)
  // On a busy machine the next one may be replaced as well. In the end it has one.
  await until(async () => (await listeners()).length === before + 1, { seconds: 30 })
  expect(problems).toEqual([])
})
