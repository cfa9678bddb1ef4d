import { watchSteps } from '@parley/server/jobs/webhooks/clock-steps'
import { expect, test } from 'vitest'
import { stopClock } from '../support/clock.ts'

test('a clock step forward counts for a minute; slow answers and steps back do not', () => {
  const clock = stopClock()
  const hasJustStepped = watchSteps()
  /** Seconds since the start, and the time of the database. */
  let [passed, database] = [0, 1_000]
  const pass = (seconds: number) => {
    passed += seconds
    database += seconds
    clock.putForward(passed * 1_000)
  }
  /** Asks for the time of the database, whose clock is set; question and answer take a while. */
  const poll = ({ setBy = 0, questionSeconds = 0, answerSeconds = 0 } = {}) => {
    const askedAt = performance.now()
    pass(questionSeconds)
    database += setBy
    const read = database
    pass(answerSeconds)
    return hasJustStepped(read, askedAt)
  }
  expect(poll()).toBe(false)
  pass(1)
  expect(poll({ answerSeconds: 30 })).toBe(false)
  expect(poll()).toBe(false)
  expect(poll({ questionSeconds: 30 })).toBe(false)
  pass(1)
  expect(poll({ setBy: -3_600 })).toBe(false)
  pass(1)
  expect(poll({ setBy: 3_600 })).toBe(true)
  pass(59)
  expect(poll()).toBe(true)
  pass(1)
  expect(poll()).toBe(false)
})
