import { defaultPreferences as all } from '@parley/contract'
import { isQuiet, isWanted, kindFor } from '@parley/server/jobs/push/rules'
import { describe, expect, test } from 'vitest'

const quiet = (quietHoursStart: string, quietHoursEnd: string, timezone = 'UTC') => ({
  ...all,
  quietHoursEnabled: true,
  quietHoursStart,
  quietHoursEnd,
  timezone,
})
const at = (instant: string) => new Date(instant)

describe('quiet hours', () => {
  test.each([
    ['the first minute is quiet', quiet('12:00', '13:00'), '2026-06-01T12:00:00Z', true],
    ['so is the last one', quiet('12:00', '13:00'), '2026-06-01T12:59:59Z', true],
    ['the end is not', quiet('12:00', '13:00'), '2026-06-01T13:00:00Z', false],
    ['the minute before is not', quiet('12:00', '13:00'), '2026-06-01T11:59:59Z', false],
    ['over midnight, before it', quiet('22:00', '08:00'), '2026-06-01T23:30:00Z', true],
    ['over midnight, at it', quiet('22:00', '08:00'), '2026-06-02T00:00:00Z', true],
    ['over midnight, after it', quiet('22:00', '08:00'), '2026-06-02T07:59:00Z', true],
    ['over midnight, at the end', quiet('22:00', '08:00'), '2026-06-02T08:00:00Z', false],
    ['over midnight, by day', quiet('22:00', '08:00'), '2026-06-02T15:00:00Z', false],
    ['until midnight', quiet('20:00', '00:00'), '2026-06-02T23:59:00Z', true],
    ['not after it', quiet('20:00', '00:00'), '2026-06-02T00:00:00Z', false],
    ['from midnight', quiet('00:00', '06:00'), '2026-06-02T00:00:00Z', true],
    ['an hour of no length', quiet('09:00', '09:00'), '2026-06-02T09:00:00Z', false],
    [
      'by the clock on the wall: Berlin in winter',
      quiet('22:00', '23:00', 'Europe/Berlin'),
      '2026-01-10T21:30:00Z',
      true,
    ],
    ['Berlin in summer', quiet('22:00', '23:00', 'Europe/Berlin'), '2026-07-10T20:30:00Z', true],
    [
      'not by the winter clock in summer',
      quiet('22:00', '23:00', 'Europe/Berlin'),
      '2026-07-10T21:30:00Z',
      false,
    ],
    [
      'the minute before clocks go forward',
      quiet('01:00', '03:00', 'Europe/Berlin'),
      '2026-03-29T00:59:00Z',
      true,
    ],
    [
      'the hour that does not exist is over at once',
      quiet('01:00', '03:00', 'Europe/Berlin'),
      '2026-03-29T01:00:00Z',
      false,
    ],
    [
      'the hour that comes twice, first',
      quiet('02:00', '03:00', 'Europe/Berlin'),
      '2026-10-25T00:30:00Z',
      true,
    ],
    [
      'the hour that comes twice, again',
      quiet('02:00', '03:00', 'Europe/Berlin'),
      '2026-10-25T01:30:00Z',
      true,
    ],
    ['and then is over', quiet('02:00', '03:00', 'Europe/Berlin'), '2026-10-25T02:00:00Z', false],
    ['half-hour zones', quiet('05:30', '05:31', 'Asia/Kolkata'), '2026-06-01T00:00:30Z', true],
    [
      'across the date line',
      quiet('23:00', '01:00', 'Pacific/Auckland'),
      '2026-06-01T11:30:00Z',
      true,
    ],
    [
      'switched off',
      { ...quiet('00:00', '23:59'), quietHoursEnabled: false },
      '2026-06-01T12:00:00Z',
      false,
    ],
  ])('%s', (_, preferences, now, expected) => {
    expect(isQuiet(preferences, at(now))).toBe(expected)
  })
})

test('a message is pushed once: as a mention, else as a reply in a thread, else as a message', () => {
  const now = at('2026-06-01T12:00:00Z')
  const everything = { isMentioned: true, isInThread: true, isMuted: false }
  const plain = { isMentioned: false, isInThread: false, isMuted: false }
  expect(kindFor(everything, all, now)).toBe('mention')
  expect(kindFor(everything, { ...all, mentions: false }, now)).toBe('thread-reply')
  expect(kindFor(everything, { ...all, mentions: false, threadReplies: false }, now)).toBe(
    'new-message',
  )
  expect(
    kindFor(everything, { ...all, mentions: false, threadReplies: false, newMessages: false }, now),
  ).toBeUndefined()
  expect(kindFor(plain, all, now)).toBe('new-message')
  expect(kindFor({ ...plain, isMuted: true }, all, now)).toBeUndefined()
  expect(kindFor({ ...everything, isMuted: true }, all, now)).toBe('mention')
  expect(kindFor(everything, { ...all, pushEnabled: false }, now)).toBeUndefined()
  expect(kindFor(everything, quiet('11:00', '13:00'), now)).toBeUndefined()
  expect(isWanted('reaction', quiet('11:00', '13:00'), now)).toBe(false)
})
