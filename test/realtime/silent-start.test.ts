import { createPostgresBroker } from '@parley/server/realtime/broker/postgres-broker'
import { expect, onTestFinished, test, vi } from 'vitest'
import { silentAt } from '../support/silent-line.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

/** The sessions that listen. Those of tests before may end a moment later. */
async function listeners() {
  const sessions = await world().db<{ pid: number }[]>`
    select pid
    from pg_stat_activity
    where datname = current_database()
      and application_name like 'parley-listener%'`
  return sessions.map(({ pid }) => pid)
}

test.each([
  ['quick', { delayMs: 0, brokerBeatMs: 100, brokerSilenceMs: 1_000 }],
  // A connection takes longer than there are looks at whether it is silent.
  ['slow', { delayMs: 50, brokerBeatMs: 20, brokerSilenceMs: 2_000 }],
])(
  'a node starts although on a %s network its first connection that listens falls silent',
  async (...given) => {
    const [, { delayMs, ...timings }] = given
    const before = await listeners()
    const added = async () => (await listeners()).filter((pid) => !before.includes(pid))
    const way = { databaseUrl: world().databaseUrl, delayMs }
    const { url, silenced } = await silentAt('listen "', way)
    const problems: string[] = []
    const broker = createPostgresBroker({
      url,
      nodeId: 'silent-start',
      report: (_, problem) => void problems.push(problem),
      timings,
    })
    onTestFinished(broker.stop)
    // It cannot know yet.
    expect(broker.hasPeers()).toBe(true)
    await broker.start({ onNote: () => {}, onMissedNotes: () => {} })
    expect(silenced()).toBeGreaterThan(0)
    // On a busy machine the next one may be replaced as well. In the end it has one.
    await until(async () => (await added()).length === 1)
    expect(problems).toEqual([])
  },
)

test('a process that stood still does not take its connection for silent', async () => {
  const now = performance.now.bind(performance)
  let aheadMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs)
  const broker = createPostgresBroker({
    url: world().databaseUrl,
    nodeId: 'stood-still',
    report: () => {},
    timings: { brokerBeatMs: 100, brokerSilenceMs: 30_000 },
  })
  onTestFinished(async () => {
    vi.restoreAllMocks()
    await broker.stop()
  })
  let connections = 0
  const onMissedNotes = (_: number, nodeId?: string) => {
    // With the id of another node, only the notes of that one were missed.
    if (nodeId === undefined) connections += 1
  }
  await broker.start({ onNote: () => {}, onMissedNotes })
  aheadMs = 60_000
  const since = now()
  await until(() => connections > 1 || now() - since > 2_000)
  expect(connections).toBe(1)
})
