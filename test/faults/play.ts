import { setTimeout as delay } from 'node:timers/promises'
import { violationsOf } from './checks/index.ts'
import { presenceReceived, unreadReceived } from './checks/user-state.ts'
import { figuresOf } from './figures.ts'
import { find } from './find.ts'
import { openRig, type Rig, type RigOptions } from './rig.ts'
import { harm, type Scenario } from './scenarios.ts'
import { startSenders } from './senders.ts'
import { startSubscribers } from './subscribers.ts'
import { measureTyping, startTypists } from './typists.ts'
import { startVisitors } from './visitors.ts'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const
const SHOWN = 5
/** For how long the load goes on when all nodes must serve. */
const QUIET_MS = 1_000

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
    const subscribers = await startSubscribers(rig, scenario.transports ?? ['websocket'])
    const load = new AbortController()
    const senders = startSenders(rig, load.signal)
    const harmDone = new AbortController()
    const visitors = startVisitors(rig, harmDone.signal)
    const typists = startTypists(rig, harmDone.signal)
    const timer = setTimeout(() => harmDone.abort(), seconds * 1_000)
    await Promise.race([harm(scenario, rig, harmDone.signal), senders])
    clearTimeout(timer)
    await Promise.all([visitors.ended, typists])
    // No call may be refused from then on. The load must go on, or no call would show it.
    if (options.isMachineIdle || scenario.loadGoesOn)
      await delay(rig.history.returnWithinMs + QUIET_MS)
    load.abort()
    await senders
    const quietAt = rig.now()
    const isTypingSeen = measureTyping(rig)
    await settle(rig, settleSeconds)
    await isTypingSeen
    const violations = violationsOf(rig.history)
    const figures = { ...figuresOf(rig.history), settleMs: Math.round(rig.now() - quietAt) }
    visitors.stop()
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

/** Checks until nothing is violated, or the time for late events is over. */
async function settle(rig: Rig, seconds: number) {
  const end = rig.now() + 1_000 * seconds
  const began = rig.now()
  let hasConverged = false
  for (;;) {
    rig.history.found = await find(rig)
    rig.history.pushes = rig.provider.triggered().map(({ transactionId }) => transactionId)
    if (!hasConverged && isConverged(rig)) {
      hasConverged = true
      rig.history.convergenceMs.push(rig.now() - began)
    }
    const violations = violationsOf(rig.history)
    if (Object.keys(violations).length === 0 || rig.now() > end) return
    await delay(500)
  }
}

const isConverged = ({ history }: Rig) =>
  [...unreadReceived(history), ...presenceReceived(history)].length === 0

const shortened = (violations: Record<string, string[]>) =>
  Object.fromEntries(
    Object.entries(violations).map(([check, lines]) => [
      check,
      lines.length > SHOWN ? [...lines.slice(0, SHOWN), `and ${lines.length - SHOWN} more`] : lines,
    ]),
  )
