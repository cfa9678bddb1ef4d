import { expect } from 'vitest'
import { slowness } from '../support/slowness.ts'
import type { Delays } from './measured-node.ts'
import type { Probed } from './probe.ts'

/** All but a thousandth of the delays are shorter, and those of that thousandth are no stalls. */
const BOUND = { usualMs: 100, longestMs: 250 }
/** For all but a thousandth of the time; printed only where the machine is late for the probe. */
const ON_TIME = { lateMs: 50, byTimeMs: 100, answerMs: 100 }

type Work = () => Promise<unknown>

/**
 * Expects that no caller waits during some work. Late work is measured again, three times in all:
 * others use the machine, too.
 */
export const shortDelays = (delayDuring: (work: Work) => Promise<Delays & Probed>) =>
  async function expectShortDuring(work: Work, tries = 3) {
    const delays = await delayDuring(work)
    console.log(expect.getState().currentTestName, delays)
    try {
      expectShort(delays)
    } catch (error) {
      if (tries === 1) throw error
      await expectShortDuring(work, tries - 1)
    }
  }

function expectShort(delays: Delays & Probed) {
  expect(delays.usualMs).toBeLessThan(BOUND.usualMs)
  expect(delays.longestMs).toBeLessThan(BOUND.longestMs)
  if (delays.lateMs > ON_TIME.lateMs) return
  expect(delays.byTimeMs).toBeLessThan(ON_TIME.byTimeMs)
  expect(delays.answerMs).toBeLessThan(ON_TIME.answerMs * slowness)
}
