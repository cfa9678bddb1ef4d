import { grouped } from '@parley/contract'

const PROGRESS_MS = 1_000

/** Says on the standard error, once a second, how far a command has come, and how fast. */
export function createProgress(what: 'lines' | 'rows') {
  const startedAt = performance.now()
  let saidAt = startedAt
  return (count: number, more = '') => {
    const now = performance.now()
    if (now - saidAt < PROGRESS_MS) return
    saidAt = now
    const rate = Math.round((count / (now - startedAt)) * 1_000)
    console.error(`${grouped(count)} ${what}, ${grouped(rate)} a second${more}`)
  }
}
