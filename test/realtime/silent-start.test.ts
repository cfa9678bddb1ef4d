import { createPostgresBroker } from '@parley/server/realtime/postgres-broker'
import { expect, onTestFinished, test } from 'vitest'
import { silentAt } from '../support/silent-line.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

test('a node starts although its first connection that listens falls silent', async () => {
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
  expect(problems).toEqual([])
})
