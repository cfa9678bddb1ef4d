import { setTimeout as delay } from 'node:timers/promises'
import type { Asked } from './history.ts'

/** The promised time until a node serves again after its database. */
export const RETURN_MS = 2_000
/**
 * How much slower a machine may be that does other work as well. The figures say what was measured.
 */
const BUSY = 5
/**
 * How soon counts and presence are right without a reconnect, as promised: most of it is pauses.
 */
const CONVERGE_MS = 15_000
/** How much longer the statements of a busy machine may take, which are five at most. */
const SLOW_MS = 10_000
/** The pause between two calls, which grows: calls that hang are no load for a busy machine. */
const ASK_EVERY_MS = 50
const LONGEST_PAUSE_MS = 250
const RETURN_GIVEN_UP_MS = 60_000

/** Makes a call that needs the database. Resolves with its status. */
export type Probe = (signal: AbortSignal) => Promise<number>

/**
 * How many milliseconds pass until the node has answered a read and a write, and the calls made
 * until then: calls that are refused at once wait for the database, those that hang for a node.
 */
export async function untilServing(probes: Record<Asked['kind'], Probe>) {
  const began = performance.now()
  const life = new AbortController()
  const asked: Asked[] = []
  const ask = async (kind: Asked['kind']) => {
    const at = performance.now()
    const status = await probes[kind](life.signal).catch(() => undefined)
    const tookMs = Math.round(performance.now() - at)
    asked.push({ kind, status, at: Math.round(at - began), tookMs })
  }
  const isDone = (kind: Asked['kind']) =>
    asked.some((one) => one.kind === kind && isSuccess(one.status))
  const missing = () => (['read', 'send'] as const).filter((kind) => !isDone(kind))
  while (missing().length > 0 && performance.now() - began < RETURN_GIVEN_UP_MS) {
    for (const kind of missing()) void ask(kind)
    const waitedMs = performance.now() - began
    await delay(Math.min(Math.max(ASK_EVERY_MS, waitedMs / 10), LONGEST_PAUSE_MS))
  }
  const milliseconds = performance.now() - began
  const ended = [...asked]
  life.abort()
  return { milliseconds, asked: ended }
}

const isSuccess = (status = 0) => status >= 200 && status < 300

/** How soon things must be right again, in milliseconds. */
export const bounds = (isMachineIdle: boolean) => ({
  returnWithinMs: isMachineIdle ? RETURN_MS : BUSY * RETURN_MS,
  convergeWithinMs: isMachineIdle ? CONVERGE_MS : CONVERGE_MS + SLOW_MS,
})
