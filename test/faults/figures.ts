import { systemUserId } from '@parley/contract'
import { groupsOf } from './groups.ts'
import type { History } from './history.ts'
import { RETURN_MS } from './serving.ts'

/** The figures of a run: how much was done, and how much was broken. */
export function figuresOf(history: History) {
  const { messages, calls, faults, returns, subscriptions, pushes } = history
  const answers = messages.map(({ acknowledged }) => acknowledged.length)
  const durations = calls.map(({ startedAt, endedAt }) => endedAt - startedAt).sort((a, b) => a - b)
  const byName = groupsOf(faults, ({ name }) => name)
  return {
    acknowledged: answers.filter((count) => count > 0).length,
    bySystem: messages.filter(({ userId }) => userId === systemUserId).length,
    silent: messages.filter(({ isSilent }) => isSilent).length,
    refusedFrozen: messages.filter(({ isRefused }) => isRefused).length,
    repeatedAnswers: answers.reduce((sum, count) => sum + Math.max(0, count - 1), 0),
    calls: calls.length,
    actedCalls: calls.filter(({ isActed }) => isActed).length,
    answered503: calls.filter(({ status }) => status === 503).length,
    unanswered: calls.filter(({ status }) => status === undefined).length,
    callP99Ms: Math.round(durations[Math.floor(durations.length * 0.99)] ?? 0),
    longestCallMs: Math.round(durations.at(-1) ?? 0),
    faults: faults.length,
    faultsByName: Object.fromEntries([...byName].map(([name, all]) => [name, all.length])),
    closures: history.closures,
    returns: returns.length,
    returnsOver2s: returns.filter(({ milliseconds }) => milliseconds > RETURN_MS).length,
    longestReturnMs: Math.round(Math.max(0, ...returns.map(({ milliseconds }) => milliseconds))),
    longestConvergenceMs: Math.round(Math.max(0, ...history.convergenceMs)),
    delivered: subscriptions.reduce(
      (sum, { received }) => sum + received.filter(({ offset }) => offset !== undefined).length,
      0,
    ),
    pushes: pushes.length,
    pushesRepeated: pushes.length - new Set(pushes).size,
  }
}
