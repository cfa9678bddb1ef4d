import { defaultPreferences as all, type Preferences } from '@parley/contract'
import { isQuiet, isWanted, kindFor } from '@parley/server/jobs/push/rules'
import { expect, onTestFinished, test } from 'vitest'

const quiet = (quietHoursStart: string, quietHoursEnd: string, timezone = 'UTC') => ({
  ...all,
  quietHoursEnabled: true,
  quietHoursStart,
  quietHoursEnd,
  timezone,
})
const berlin = (start: string, end: string) => quiet(start, end, 'Europe/Berlin')
const disabled = { ...quiet('00:00', '23:59'), quietHoursEnabled: false }
const at = (instant: string) => new Date(instant)

const cases: [string, Preferences, string, boolean][] = [
  ['include the first minute', quiet('12:00', '13:00'), '2026-06-01T12:00Z', true],
  ['include the last minute', quiet('12:00', '13:00'), '2026-06-01T12:59:59Z', true],
  ['exclude the end', quiet('12:00', '13:00'), '2026-06-01T13:00Z', false],
  ['exclude the minute before the start', quiet('12:00', '13:00'), '2026-06-01T11:59:59Z', false],
  ['over midnight include the evening', quiet('22:00', '08:00'), '2026-06-01T23:30Z', true],
  ['over midnight include midnight', quiet('22:00', '08:00'), '2026-06-02T00:00Z', true],
  ['over midnight include the morning', quiet('22:00', '08:00'), '2026-06-02T07:59Z', true],
  ['over midnight exclude the end', quiet('22:00', '08:00'), '2026-06-02T08:00Z', false],
  ['over midnight exclude the day', quiet('22:00', '08:00'), '2026-06-02T15:00Z', false],
  ['until midnight include the last minute', quiet('20:00', '00:00'), '2026-06-02T23:59Z', true],
  ['until midnight exclude midnight', quiet('20:00', '00:00'), '2026-06-02T00:00Z', false],
  ['from midnight include midnight', quiet('00:00', '06:00'), '2026-06-02T00:00Z', true],
  ['are empty when start equals end', quiet('09:00', '09:00'), '2026-06-02T09:00Z', false],
  ['follow local time in winter', berlin('22:00', '23:00'), '2026-01-10T21:30Z', true],
  ['follow local time in summer', berlin('22:00', '23:00'), '2026-07-10T20:30Z', true],
  ['do not follow winter time in summer', berlin('22:00', '23:00'), '2026-07-10T21:30Z', false],
  ['last until clocks go forward', berlin('01:00', '03:00'), '2026-03-29T00:59Z', true],
  ['skip the hour that clocks skip', berlin('01:00', '03:00'), '2026-03-29T01:00Z', false],
  ['include a repeated hour at first', berlin('02:00', '03:00'), '2026-10-25T00:30Z', true],
  ['include a repeated hour again', berlin('02:00', '03:00'), '2026-10-25T01:30Z', true],
  ['end after a repeated hour', berlin('02:00', '03:00'), '2026-10-25T02:00Z', false],
  ['fit half-hour zones', quiet('05:30', '05:31', 'Asia/Kolkata'), '2026-06-01T00:00:30Z', true],
  ['span the date line', quiet('23:00', '01:00', 'Pacific/Auckland'), '2026-06-01T11:30Z', true],
  ['apply only when enabled', disabled, '2026-06-01T12:00Z', false],
]
test.each(cases)('quiet hours %s', (_, preferences, now, expected) => {
  expect(isQuiet(preferences, at(now))).toBe(expected)
})

test('a message is one push: a mention, else a thread reply, else a new message', () => {
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

test('a timezone has one formatter, and its other spellings are forgotten', () => {
  const { DateTimeFormat } = Intl
  let made = 0
  class Counted extends DateTimeFormat {
    constructor(...given: ConstructorParameters<typeof DateTimeFormat>) {
      super(...given)
      made += 1
    }
  }
  Object.assign(Intl, { DateTimeFormat: Counted })
  onTestFinished(() => void Object.assign(Intl, { DateTimeFormat }))
  const name = 'America/Argentina/ComodRivadavia'
  /** One of the many spellings of the name in upper and lower case. */
  const spelled = (number: number) =>
    [...name].map((letter, at) => ((number >> at) & 1 ? letter.toUpperCase() : letter)).join('')
  const ask = (number: number) =>
    void isQuiet(quiet('22:00', '08:00', spelled(number)), at('2026-06-01T12:00Z'))
  const spellings = new Map(Array.from({ length: 8_192 }, (_, n) => [spelled(n), n]))
  const numbers = [...spellings.values()].slice(0, 1_500)
  const [first = 0] = numbers
  for (const number of [first, ...numbers]) ask(number)
  expect(made).toBe(numbers.length)
  ask(first)
  expect(made).toBe(numbers.length + 1)
})
