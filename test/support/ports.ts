import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Each worker draws from a range of its own: what is free may be drawn again before it is used. */
const RANGES = 8
const RANGE = 20_000 / RANGES
const first = 10_000 + (Number(process.env.VITEST_POOL_ID ?? 0) % RANGES) * RANGE

/**
 * Ports that were free a moment ago. Systems give away higher ones by themselves, to connections
 * and to servers without a preference: one of those could be taken before it is used.
 */
export async function freePorts(count: number) {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = randomInt(first, first + RANGE)
    if (await isFree(port)) ports.add(port)
  }
  return [...ports]
}

const isFree = (port: number) =>
  new Promise<boolean>((resolve) => {
    const server = createServer()
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })

export const freePort = async () => (await freePorts(1))[0] ?? 0
