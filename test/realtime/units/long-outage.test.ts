import { Sessions } from '@parley/server/realtime/sessions'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { upTo } from '../../support/events.ts'
import { openNode, pass } from './reconciliation.ts'

beforeEach(() => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
})

/** How far back a node with these users looks after an hour without its database. */
async function lookAfterAnHour(sessions: Sessions) {
  let isAway = true
  const looked: number[] = []
  const use = async (work: (db: unknown) => unknown) => {
    if (isAway) throw new Error('no database')
    return work((texts: string[], ...values: unknown[]) => {
      for (const [index, value] of values.entries())
        if (texts[index + 1]?.startsWith(" * interval '1 second'")) looked.push(Number(value))
      return []
    })
  }
  const onMissedEdits = (milliseconds: number) => void looked.push(milliseconds / 1_000)
  const { reconcile, missedNotes } = openNode({ use, sessions, onMissedEdits })
  for (let second = 0; second < 3_600; second += 5) {
    await expect(reconcile()).rejects.toThrow('no database')
    await pass(5_000)
  }
  isAway = false
  missedNotes(3_600)
  await reconcile()
  return looked
}

test('a node that was cut off looks as far back as it had users, and not for hours', async () => {
  const sessions = new Sessions()
  sessions.add({ appId: 'app', userId: 'ana', generation: 0, topics: [], close: () => {} })
  const looked = await lookAfterAnHour(sessions)
  expect(looked).toHaveLength(3)
  expect(Math.min(...looked)).toBeGreaterThanOrEqual(3_600)
  expect(Math.max(...(await lookAfterAnHour(new Sessions())))).toBeLessThan(60)
})

test('all revoked users lose their sockets, even if one statement checks fewer', async () => {
  const sessions = new Sessions()
  const closed: number[] = []
  for (const n of upTo(1_001))
    sessions.add({
      ...{ appId: 'app', userId: `${n}`, generation: 0, topics: [] },
      close: () => void closed.push(n),
    })
  const generation = { tokenGeneration: null }
  const use = async (work: (db: unknown) => unknown) =>
    work((texts: string[], _: unknown, userIds: string[]) =>
      texts.join('').includes('token_generation') ? userIds.map(() => generation) : [],
    )
  await openNode({ use, sessions }).reconcile()
  expect(closed).toEqual(upTo(1_001))
})
