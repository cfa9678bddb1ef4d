import { type Session, Sessions } from '@parley/server/realtime/sessions'
import { createSteadiness } from '@parley/server/realtime/steadiness'
import { timings as defaults } from '@parley/server/realtime/timings'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { appId } from '../hub/fixture.ts'
import { openNode, pass } from './reconciliation.ts'

beforeEach(() => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
})

/** The part of 15 s that is left for the statements that find a missed change. */
const STATEMENTS_MS = 2_500
const PROMISED_MS = 15_000 - STATEMENTS_MS

test('presence is compared once after a gap, and again after the end of a longer one', async () => {
  const { presence, missedNotes } = openNode()
  // The comparison is due long before the heartbeat that follows it.
  await pass(1_200)
  missedNotes(1)
  await pass(60_000)
  const { comparePresenceMs, lookMs } = defaults
  const [first = 0] = presence.comparedAt
  expect(presence.comparedAt).toHaveLength(1)
  expect(first - performance.now() + 60_000).toBeGreaterThanOrEqual(comparePresenceMs)
  expect(first - performance.now() + 60_000).toBeLessThanOrEqual(comparePresenceMs + lookMs)
  presence.comparedAt.splice(0)
  const began = performance.now()
  // Gaps that follow each other do not put it off.
  for (let second = 0; second < 30; second += 1) {
    missedNotes(1)
    await pass(1_000)
  }
  const [soon = Number.POSITIVE_INFINITY] = presence.comparedAt
  expect(soon - began).toBeLessThanOrEqual(comparePresenceMs + lookMs)
  await pass(comparePresenceMs + lookMs)
  expect((presence.comparedAt.at(-1) ?? 0) - began).toBeGreaterThanOrEqual(
    29_000 + comparePresenceMs,
  )
  const compared = presence.comparedAt.length
  await pass(60_000)
  expect(presence.comparedAt).toHaveLength(compared)
})

test('presence is compared after a change that was not sent, and after lost rows', async () => {
  let areLost = false
  const { presence } = openNode({ beat: async () => areLost })
  presence.hasLost = true
  await pass(PROMISED_MS)
  expect(presence.comparedAt).toHaveLength(1)
  areLost = true
  await pass(defaults.beatMs)
  areLost = false
  await pass(PROMISED_MS)
  expect(presence.comparedAt).toHaveLength(2)
})

test('changes of presence that were missed are found, and after lost rows all counts', async () => {
  let areLost = false
  const { repairs, missedNotes } = openNode({ beat: async () => areLost })
  await pass(60_000)
  missedNotes(5, 'the other node')
  expect(repairs).toEqual([{ changesOf: 5_000, nodeId: 'the other node' }])
  areLost = true
  await pass(defaults.beatMs)
  expect(repairs.slice(1)).toEqual(['counts', { changesOf: expect.any(Number), nodeId: undefined }])
})

test('users who could not be announced again are announced within 15 s', async () => {
  const { presence } = openNode()
  await pass(60_000)
  const before = presence.announcements
  await pass(PROMISED_MS)
  expect(presence.announcements).toBeGreaterThan(before)
})

test('rights whose check failed are checked again by the next comparison', async () => {
  const { repairs, reconcile } = openNode()
  await reconcile()
  expect(repairs).toEqual(['rights'])
})

test('reconciliations follow each other, also after one that failed', async () => {
  const log: string[] = []
  const { reconcile } = openNode({
    compareTopics: async () => {
      log.push('begins')
      await new Promise((resolve) => setTimeout(resolve, 100))
      log.push('ends')
      if (log.length === 2) throw new Error('lost')
    },
  })
  const both = Promise.allSettled([reconcile(), reconcile()])
  await pass(1_000)
  expect((await both).map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  expect(log).toEqual(['begins', 'ends', 'begins', 'ends'])
})

test('a comparison looks back to the start of the one before, however long this took', async () => {
  const secondsBack: number[] = []
  const sql = (_: TemplateStringsArray, ...values: unknown[]) => {
    secondsBack.push(...values.filter((value) => typeof value === 'number'))
    return []
  }
  const sessions = new Sessions()
  sessions.add({ appId, userId: 'ana', close: () => {} } as unknown as Session) // all it reads
  const { reconcile } = openNode({
    sessions,
    use: async (work) => work(sql),
    compareTopics: () => new Promise((resolve) => setTimeout(resolve, 60_000)),
  })
  void reconcile()
  await pass(60_000)
  secondsBack.splice(0)
  void reconcile()
  await pass(0)
  expect(Math.min(...secondsBack)).toBeGreaterThan(60)
})

test('a node that was frozen for some heartbeats gives others time for theirs', async () => {
  const { worked, isSteady } = createSteadiness(defaults)
  for (let beats = 0; beats < 20; beats++) {
    worked()
    await pass(defaults.beatMs)
  }
  expect(isSteady()).toBe(true)
  await pass(3 * defaults.beatMs)
  worked()
  expect(isSteady()).toBe(false)
})

type Death = { diedAt: number; lostAt?: number; backAt?: number; returnMs?: number }

/**
 * Plays two minutes of another node that beats until `diedAt`, beside this one. Both reach the
 * database but not from `lostAt` to `backAt`, after which the other one needs `returnMs`. Returns
 * when this node removed the other one.
 */
async function playDeath({ diedAt, lostAt = 0, backAt = 0, returnMs = 0 }: Death) {
  const began = performance.now()
  const now = () => performance.now() - began
  const isLost = (extraMs = 0) => now() >= lostAt && now() < backAt + extraMs
  let beatAt = 0
  let removedAt: number | undefined
  const other = setInterval(() => {
    if (now() < diedAt && !isLost(returnMs)) beatAt = now()
  }, defaults.beatMs)
  onTestFinished(() => clearInterval(other))
  openNode({
    beat: async () => {
      if (!isLost()) return false
      // A heartbeat that is under way when the database is back is lost as well.
      await new Promise((resolve) => setTimeout(resolve, defaults.beatPatienceMs))
      throw new Error('lost')
    },
    onRemoval: () => {
      if (!isLost() && now() - beatAt > defaults.deadAfterMs) removedAt ??= now()
    },
  })
  await pass(120_000)
  vi.clearAllTimers()
  return removedAt
}

test('the users of a node that falls silent are shown offline within 15 s', async () => {
  for (let diedAt = 20_000; diedAt < 23_000; diedAt += 250) {
    const removedAt = (await playDeath({ diedAt })) ?? Number.POSITIVE_INFINITY
    expect(removedAt - diedAt).toBeGreaterThan(defaults.deadAfterMs - defaults.beatMs)
    expect(removedAt - diedAt).toBeLessThanOrEqual(PROMISED_MS)
  }
})

test('users of a node that died in an outage are offline within 15 s of its end', async () => {
  for (let lengthMs = 500; lengthMs < 40_000; lengthMs += 1_500) {
    const backAt = 20_000 + lengthMs
    const removedAt = await playDeath({ diedAt: 20_000, lostAt: 20_000, backAt })
    expect(removedAt).toBeLessThanOrEqual(backAt + PROMISED_MS)
  }
})

test('no outage, however long, makes nodes declare each other dead', async () => {
  for (let lengthMs = 500; lengthMs < 40_000; lengthMs += 1_500) {
    for (const returnMs of [0, 2_000, 3_500]) {
      const outage = { lostAt: 20_300, backAt: 20_300 + lengthMs, returnMs }
      expect(await playDeath({ diedAt: Number.POSITIVE_INFINITY, ...outage })).toBeUndefined()
    }
  }
})

test('after a heartbeat that could not be written, other nodes have time for theirs', async () => {
  let fails = false
  const removals: number[] = []
  openNode({
    beat: async () => {
      if (fails) throw new Error('lost')
      return false
    },
    onRemoval: () => void removals.push(performance.now()),
  })
  await pass(20_000)
  expect(removals).not.toEqual([])
  fails = true
  await pass(defaults.beatMs)
  fails = false
  removals.splice(0)
  const began = performance.now()
  await pass(PROMISED_MS)
  expect((removals[0] ?? 0) - began).toBeGreaterThan(2 * defaults.beatMs)
})

test('when the clock of the database was set, nodes have time to beat by it', async () => {
  let isStep = false
  const removals: number[] = []
  const onRemoval = () => void removals.push(performance.now())
  const { presence } = openNode({ onRemoval, hasClockStepped: () => isStep })
  await pass(20_000)
  expect(removals).not.toEqual([])
  isStep = true
  await pass(defaults.beatMs)
  isStep = false
  removals.splice(0)
  const began = performance.now()
  await pass(PROMISED_MS)
  const [first = 0] = removals
  expect(first - began).toBeGreaterThan(2 * defaults.beatMs)
  expect(removals).not.toHaveLength(0)
  // Meanwhile users of other nodes may have been announced offline.
  expect(presence.comparedAt).toHaveLength(1)
})

test('changes that a node missed while its listener was silent are sent within 15 s', () => {
  const { brokerBeatMs, brokerSilenceMs, silentNodeMs, comparePresenceMs, lookMs } = defaults
  const { reconcileMs } = defaults
  const listenerSilence = brokerSilenceMs + lookMs
  // A node notices the silence of another one at its own next note.
  const silent = silentNodeMs + brokerBeatMs
  for (const noticed of [listenerSilence, silent]) {
    expect(noticed + comparePresenceMs + lookMs).toBeLessThanOrEqual(PROMISED_MS)
    // If a call of the first attempt is lost, the next pass sends the counts and profiles.
    expect(noticed + reconcileMs).toBeLessThanOrEqual(PROMISED_MS)
  }
  expect(defaults.typingMs + 1_000).toBeLessThanOrEqual(PROMISED_MS)
})
