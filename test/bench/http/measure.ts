import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Load, LoadResult } from './clients.ts'
import type { watchDatabase } from './database.ts'
import type { Round } from './table.ts'

/** A target of measurements: a server, and the requests that its clients repeat. */
export type Target = {
  url: string
  requests: string[]
  cpuSeconds: () => Promise<number>
  /** Its resident memory, in bytes. */
  rss?: () => Promise<number>
  /** Runs before each round. */
  prepare?: () => Promise<void>
}
export type Measured = Round & { failed: number }

/**
 * Puts load on one target at a time, and divides the work of all processes by the number of
 * answers.
 */
export function createMeasure({
  clients,
  read,
  seconds,
}: {
  clients: ReturnType<typeof startClients>
  read: Awaited<ReturnType<typeof watchDatabase>>['read']
  seconds: number
}) {
  return async (
    { url, requests, cpuSeconds, prepare }: Target,
    connections: number,
  ): Promise<Measured> => {
    await prepare?.()
    const before = { node: await cpuSeconds(), database: await read() }
    const port = Number(new URL(url).port)
    const result = await clients.run({ port, connections, seconds, requests })
    const after = { node: await cpuSeconds(), database: await read() }
    const { answered } = result
    const node = after.node - before.node
    const inPostgres = after.database.cpuSeconds - before.database.cpuSeconds
    return {
      failed: result.failed,
      perSecond: answered / result.seconds,
      p50: result.p50,
      p99: result.p99,
      node: (1e6 * node) / answered,
      postgres: (1e6 * inPostgres) / answered,
      statements: (after.database.statements - before.database.statements) / answered,
      walBytes: (after.database.walBytes - before.database.walBytes) / answered,
      clients: result.cpuSeconds / (result.cpuSeconds + node + inPostgres),
    }
  }
}

export function startClients() {
  const child = fork(new URL('./clients.ts', import.meta.url))
  return {
    run: async (load: Load) => {
      child.send(load)
      const [result] = (await once(child, 'message')) as [LoadResult] // its only message
      return result
    },
    stop: () => child.disconnect(),
  }
}
