/**
 * For `vi.waitFor` and `vi.waitUntil`, whose default of one second is too short on a busy machine.
 */
export const patient = { timeout: 120_000, interval: 10 }

/**
 * How long calls wait for the database, and it for them. The limits are long, so that no call fails
 * because the machine is busy.
 */
export const unhurried = {
  callMs: 120_000,
  statementMs: 120_000,
  idleInTransactionMs: 120_000,
}

/**
 * Repeats a question until the answer is neither empty nor false; fails after `seconds`. The longer
 * it takes, the longer the pauses: questions of tests that wait took much of the machine.
 */
export async function until<T>(
  ask: () => Promise<T> | T,
  { seconds = 150 } = {},
): Promise<Exclude<T, undefined | null | false>> {
  const start = Date.now()
  for (let waited = 0; waited < seconds * 1000; waited = Date.now() - start) {
    const answer = await ask()
    if (answer !== undefined && answer !== null && answer !== false)
      return answer as Exclude<T, undefined | null | false> // just excluded
    const pause = Math.min(Math.max(5, waited / 4), 100)
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
  throw new Error(`waited ${seconds} s in vain: ${ask}`)
}
