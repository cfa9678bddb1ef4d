import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * Ports that were free a moment ago. Systems give away higher ones by themselves, to connections
 * and to servers without a wish: one of those could be taken before it is used.
 */
export async function freePorts(count: number) {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = randomInt(10_000, 30_000)
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
