import { setTimeout as delay } from 'node:timers/promises'

/** What is promised of a node whose database is back. */
const RETURN_MS = 2_000
/** What a machine may be slower that does other work as well. The figures say what was measured. */
const BUSY = 5
/** What is promised of counts and presence, without a reconnect: most of it is pauses. */
const TOLD_MS = 15_000
/** How much longer the statements of a busy machine may take, which are five at most. */
const SLOW_MS = 10_000
const ASK_EVERY_MS = 50
const RETURN_GIVEN_UP_MS = 60_000

/** How many milliseconds pass until a call that needs the database succeeds. */
export async function untilServing(url: string, token: string) {
  const began = performance.now()
  const life = new AbortController()
  let isServing = false
  const ask = async () => {
    const response = await fetch(`${url}/api/channels/unread-count`, {
      headers: { authorization: `Bearer ${token}` },
      signal: life.signal,
    }).catch(() => undefined)
    if (response?.ok) isServing = true
    await response?.text().catch(() => {})
  }
  while (!isServing && performance.now() - began < RETURN_GIVEN_UP_MS) {
    void ask()
    await delay(ASK_EVERY_MS)
  }
  const milliseconds = performance.now() - began
  life.abort()
  return milliseconds
}

/** How soon things must be right again, in milliseconds. */
export const bounds = (isMachineIdle: boolean) => ({
  returnWithinMs: isMachineIdle ? RETURN_MS : BUSY * RETURN_MS,
  toldWithinMs: isMachineIdle ? TOLD_MS : TOLD_MS + SLOW_MS,
})
