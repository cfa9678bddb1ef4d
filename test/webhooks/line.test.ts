import {
  afterFailure,
  type Candidate,
  groupsOf,
  isPersistent,
} from '@parley/server/jobs/webhooks/line'
import { expect, test } from 'vitest'
import { upTo } from '../support/events.ts'

const candidate = (id: string, given: Partial<Candidate> = {}): Candidate => ({
  id,
  headerId: `msg_${id}`,
  topic: 'a',
  offset: Number(id),
  eventType: 'message.new',
  status: 'pending',
  attempts: 0,
  dueAt: '0',
  isDue: true,
  ...given,
})
const idsOf = (candidates: Candidate[]) =>
  groupsOf(candidates).map((all) => all.map(({ id }) => id))

test('the events of a channel are sent one after the other, those of channels side by side', () => {
  const other = { topic: 'b' }
  expect(
    idsOf([candidate('1'), candidate('5', other), candidate('2'), candidate('4', other)]),
  ).toEqual([
    ['1', '2'],
    ['4', '5'],
  ])
})

test('an event that waits holds up those after it in its channel, and nothing else', () => {
  const waiting = { isDue: false }
  expect(
    idsOf([
      candidate('1'),
      candidate('2', waiting),
      candidate('3'),
      candidate('4', { topic: 'b', ...waiting }),
      candidate('5', { topic: 'b' }),
      candidate('6', { topic: 'c' }),
    ]),
  ).toEqual([['1'], ['6']])
})

test('a turn has a limited number of deliveries, and each channel its order', () => {
  const other = { topic: 'b' }
  const waiting = [candidate('1', { topic: 'c', isDue: false }), candidate('2', { topic: 'c' })]
  const line = [candidate('3'), candidate('4'), candidate('5', other), candidate('6', other)]
  const ids = groupsOf([...waiting, ...line], 3).map((all) => all.map(({ id }) => id))
  expect(ids).toEqual([['3', '4'], ['5']])
  const long = upTo(200).map((n) => candidate(`${n}`, { topic: n % 2 === 0 ? 'a' : `${n}` }))
  expect(groupsOf(long).flat()).toHaveLength(50)
})

test('a channel with many events leaves room in the turn for those of another', () => {
  const line = [...upTo(60).map((n) => candidate(`${n}`)), candidate('61', { topic: 'b' })]
  const ids = idsOf(line)
  expect(ids).toEqual([upTo(49).map(String), ['61']])
})

test('a delivery that failed several times is retried alone, and tests do not queue', () => {
  const test = { topic: null, offset: null }
  expect(
    idsOf([
      candidate('2'),
      candidate('8', test),
      candidate('9', test),
      candidate('1', { status: 'retrying' }),
      candidate('3', { status: 'retrying', isDue: false }),
    ]),
  ).toEqual([['1'], ['2'], ['8'], ['9']])
})

test('a delivery is tried again after growing pauses for about a day, and then has failed', () => {
  const pauses: number[] = []
  const statuses = upTo(11).map((attempts) => {
    const next = afterFailure({ attempts, retryAfterSeconds: 0, unitMs: 1_000 })
    pauses.push(next.pauseMs / 1_000)
    expect(isPersistent(attempts)).toBe(next.status !== 'pending')
    return next.status
  })
  expect(statuses).toEqual([...Array(3).fill('pending'), ...Array(7).fill('retrying'), 'failed'])
  expect(pauses[0]).toBeLessThanOrEqual(5)
  for (const [index, pause] of pauses.slice(0, 9).entries())
    expect(pauses[index + 1]).toBeGreaterThan(pause * 0.9)
  const hours = pauses.reduce((sum, pause) => sum + pause) / 3_600
  expect(hours).toBeGreaterThan(20)
  expect(hours).toBeLessThan(24)
})

test('a receiver that asks for a longer pause gets it', () => {
  const next = afterFailure({ attempts: 1, retryAfterSeconds: 90, unitMs: 1_000 })
  expect(next).toEqual({ status: 'pending', pauseMs: 90_000 })
  expect(
    afterFailure({ attempts: 5, retryAfterSeconds: 90, unitMs: 1_000 }).pauseMs,
  ).toBeGreaterThan(1_000_000)
})
