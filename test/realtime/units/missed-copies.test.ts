import { createMetrics } from '@parley/server/core/metrics'
import type { Db } from '@parley/server/db/client'
import { MissedCopies } from '@parley/server/realtime/fanout/missed-copies'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { upTo } from '../../support/events.ts'
import { chat } from '../hub/fixture.ts'
import { channel } from './fanout.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
})

type Edit = { topic: string; offset: number }

/** Copies of one edit, or of these pages. The database and the copying may fail. */
function openCopies(pages?: Edit[][]) {
  const state = { failure: undefined as Error | undefined, isLost: false, copyFailure: false }
  const copied: number[] = []
  const seconds: number[] = []
  const froms: unknown[] = []
  const problems: string[] = []
  const metrics = createMetrics()
  const use = async (work: (db: unknown) => unknown) => {
    if (state.failure) throw state.failure
    return work((texts: string[], ...values: unknown[]) => {
      const [value] = values
      // This value is the part of the statement that says how recent the events are.
      if (typeof value === 'number') seconds.push(Math.round(value))
      if (!texts[0]?.includes('with changed')) return []
      froms.push(values.at(-2))
      return pages ? (pages.shift() ?? []) : [{ topic: chat, offset: 7, memberCount: 2 }]
    })
  }
  const copies: MissedCopies = new MissedCopies({
    db: { use } as unknown as Db, // it only uses that
    metrics,
    report: (error, problem) => void problems.push(`${problem}: ${error}`),
    copy: async (events) => {
      if (state.copyFailure && events.length > 0) throw new Error('no database')
      for (const { topic, offset } of events) {
        copied.push(offset)
        if (state.isLost) copies.handleLost({ topic, offset })
      }
    },
  })
  const givenUp = async () => (await metrics.editsGivenUp.get()).values[0]?.value
  return { copies, state, copied, seconds, froms, problems, givenUp }
}

test('edits of channels that may have been missed are copied, also after a failure', async () => {
  const { copies, state, copied, seconds } = openCopies()
  state.failure = new Error('no database')
  copies.missed(1_000)
  await expect(copies.catchUp()).rejects.toBe(state.failure)
  state.failure = undefined
  await copies.catchUp()
  await copies.catchUp()
  expect([copied, seconds]).toEqual([[7], [16]])
})

test('the edits of a long outage are found although the first copies of them fail', async () => {
  const { copies, state, copied, seconds } = openCopies()
  copies.missed(60_000)
  state.copyFailure = true
  await expect(copies.catchUp()).rejects.toThrow('no database')
  await vi.advanceTimersByTimeAsync(20_000)
  await expect(copies.catchUp()).rejects.toThrow('no database')
  state.copyFailure = false
  await copies.catchUp()
  expect([copied, seconds]).toEqual([[7], [75, 95, 95]])
})

test('a copy that failed is tried again after growing pauses, but not for ever', async () => {
  const { copies, state, copied, problems, givenUp } = openCopies()
  state.isLost = true
  copies.handleLost({ topic: chat, offset: 7 })
  copies.handleLost({ topic: chat, offset: 5 })
  const triedAt: number[] = []
  for (let second = 0; second < 1_000; second += 5) {
    const before = copied.length
    await copies.catchUp()
    if (copied.length > before) triedAt.push(second)
    await vi.advanceTimersByTimeAsync(5_000)
  }
  expect(triedAt).toEqual([0, 5, 10, 20, 40, 80, 160, 320])
  expect(new Set(copied)).toEqual(new Set([7]))
  expect(problems).toEqual(['copies of edits given up: Error: in 1 channels'])
  expect(await givenUp()).toBe(1)
})

test('the oldest of too many failed copies are given up, with one log line a pass', async () => {
  const { copies, copied, problems, givenUp } = openCopies()
  for (const offset of upTo(10_003)) copies.handleLost({ topic: channel(offset), offset })
  await copies.catchUp()
  await copies.catchUp()
  expect([copied.length, copied[0], copied.at(-1)]).toEqual([10_000, 4, 10_003])
  expect(problems).toEqual(['copies of edits given up: Error: in 3 channels'])
  expect(await givenUp()).toBe(3)
})

test('all missed edits are copied, even if one statement reads fewer', async () => {
  const edits = upTo(10_001).map((offset) => ({ topic: channel(offset), offset }))
  const { copies, copied, froms } = openCopies([edits.slice(0, 10_000), edits.slice(10_000)])
  copies.missed(1_000)
  await copies.catchUp()
  expect(copied).toEqual(upTo(10_001))
  expect(froms).toEqual(['', channel(10_000)])
})
