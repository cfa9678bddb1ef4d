import { setTimeout as delay } from 'node:timers/promises'
import type { Asked } from './history.ts'

/** What is promised of a node whose database is back. */
export const RETURN_MS = 2_000
/** What a machine may be slower that does other work as well. The figures say what was measured. */
const BUSY = 5
/** What is promised of counts and presence, without a reconnect: most of it is pauses. */
const TOLD_MS = 15_000
/** How much longer the statements of a busy machine may take, which are five at most. */
const SLOW_MS = 10_000
const ASK_EVERY_MS = 50
const RETURN_GIVEN_UP_MS = 60_000

/**
 * How many milliseconds pass until a call that needs the database succeeds, and what was asked
 * until then: calls that are refused at once wait for the database, those that hang for a node.
 */
export async function untilServing(url: string, token: string) {
  const began = performance.now()
  const life = new AbortController()
  const asked: Asked[] = []
  const ask = async () => {
    const at = performance.now()
    const response = await fetch(`${url}/api/channels/unread-count`, {
      headers: { authorization: `Bearer ${token}` },
      signal: life.signal,
    }).catch(() => undefined)
    const tookMs = Math.round(performance.now() - at)
    asked.push({ status: response?.status, at: Math.round(at - began), tookMs })
    await response?.text().catch(() => {})
  }
  const isServing = () => asked.some(({ status }) => status === 200)
  while (!isServing() && performance.now() - began < RETURN_GIVEN_UP_MS) {
    void ask()
    await delay(ASK_EVERY_MS)
  }
  const milliseconds = performance.now() - began
  const ended = [...asked]
  life.abort()
  return { milliseconds, asked: ended }
}

/** How soon things must be right again, in milliseconds. */
export const bounds = (isMachineIdle: boolean) => ({
  returnWithinMs: isMachineIdle ? RETURN_MS : BUSY * RETURN_MS,
  toldWithinMs: isMachineIdle ? TOLD_MS : TOLD_MS + SLOW_MS,
})
