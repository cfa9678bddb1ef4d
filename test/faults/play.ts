import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { violationsOf } from './checks/index.ts'
import { presenceTold, unreadTold } from './checks/told.ts'
import { figuresOf } from './figures.ts'
import { find } from './find.ts'
import { openRig, type Rig, type RigOptions } from './rig.ts'
import { harm, type Scenario } from './scenarios.ts'
import { startSenders } from './senders.ts'
import { startSubscribers, startVisitors } from './subscribers.ts'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const
const SHOWN = 5

export type Played = Awaited<ReturnType<typeof play>>

/** Plays a scenario on a rig of its own. */
export async function play(
  scenario: Scenario,
  { seconds, settleSeconds, ...options }: RigOptions & { seconds: number; settleSeconds: number },
) {
  const rig = await openRig(options)
  const quit = () => void rig.stop().finally(() => process.exit(1))
  for (const signal of SIGNALS) process.once(signal, quit)
  try {
    const began = rig.now()
    const subscribers = await startSubscribers(rig)
    const load = new AbortController()
    const isCalm = once(load.signal, 'abort').then(subscribers.ready)
    const senders = startSenders(rig, { signal: load.signal, isCalm })
    const harmDone = new AbortController()
    const visitors = scenario.hasVisitors ? startVisitors(rig, harmDone.signal) : undefined
    const timer = setTimeout(() => harmDone.abort(), seconds * 1_000)
    await Promise.race([harm(scenario, rig, harmDone.signal), senders])
    clearTimeout(timer)
    await visitors?.ended
    load.abort()
    await senders
    await visitors?.changeTwice()
    const quietAt = rig.now()
    const violations = await settle(rig, settleSeconds)
    const figures = { ...figuresOf(rig.history), settleMs: Math.round(rig.now() - quietAt) }
    visitors?.stop()
    subscribers.stop()
    return {
      figures: { seconds: Math.round((rig.now() - began) / 1_000), ...figures },
      violations: shortened(violations),
      history: rig.history,
      warnings: Object.fromEntries(
        [...rig.nodes, rig.worker].map(({ process: { name, warnings } }) => [name, warnings]),
      ),
    }
  } finally {
    for (const signal of SIGNALS) process.off(signal, quit)
    await rig.stop()
  }
}

/** Checks until nothing is violated, or the time for what is told late is over. */
async function settle(rig: Rig, seconds: number) {
  const end = rig.now() + 1_000 * seconds
  const began = rig.now()
  let isTold = false
  for (;;) {
    rig.history.found = await find(rig)
    rig.history.pushes = rig.provider.triggered().map(({ transactionId }) => transactionId)
    if (!isTold && isAllTold(rig)) {
      isTold = true
      rig.history.told.push(rig.now() - began)
    }
    const violations = violationsOf(rig.history)
    if (Object.keys(violations).length === 0 || rig.now() > end) return violations
    await delay(500)
  }
}

const isAllTold = ({ history }: Rig) =>
  [...unreadTold(history), ...presenceTold(history)].length === 0

const shortened = (violations: Record<string, string[]>) =>
  Object.fromEntries(
    Object.entries(violations).map(([check, lines]) => [
      check,
      lines.length > SHOWN ? [...lines.slice(0, SHOWN), `and ${lines.length - SHOWN} more`] : lines,
    ]),
  )
