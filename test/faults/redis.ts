import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../support/ports.ts'
import { startRedis } from '../support/redis.ts'

/** One server, or a server and its replica with three Sentinels. */
export type RedisKind = 'single' | 'sentinels'

/** So high that only a defect refuses calls. The limits make the nodes count calls in Redis. */
const limits = '1000000'
const MASTER = 'chat'
const ASK_EVERY_MS = 100
const PATIENCE_MS = 40_000

export const startRedisOf = (kind: RedisKind, folder: string) =>
  kind === 'single' ? startOne() : startWithSentinels(folder)

async function startOne() {
  const server = await startRedis()
  return {
    limits,
    url: server.url,
    /** The address by way of a proxy. */
    urlBy: (host: string) => `redis://${host}`,
    kill: server.kill,
    start: server.start,
    /** It loses all that it has, its connections included. */
    flush: async () => {
      await ask(server.port, 'flushall')
      for (const type of ['pubsub', 'normal'])
        await ask(server.port, 'client', 'kill', 'type', type)
    },
    failOver: async () => {},
    end: server.kill,
  }
}

async function startWithSentinels(folder: string) {
  const first = await startRedis()
  const second = await startRedis(undefined, ['--replicaof', '127.0.0.1', String(first.port)])
  const servers = [first, second]
  const sentinels = await Promise.all([0, 1, 2].map((n) => startSentinel(folder, n, first.port)))
  const [{ port: sentinel } = { port: 0 }] = sentinels
  const masterPort = async () =>
    Number((await ask(sentinel, 'sentinel', 'get-master-addr-by-name', MASTER)).split('\n')[1])
  const isInSync = async () => {
    const master = await masterPort()
    const infos = servers.flatMap(({ port }) => (port === master ? [] : ask(port, 'info')))
    return (await Promise.all(infos)).every((info) => info.includes('master_link_status:up'))
  }
  const areKnown = async () =>
    / num-slaves 1 num-other-sentinels 2 /.test(
      ` ${(await ask(sentinel, 'sentinel', 'master', MASTER)).replaceAll(/\s+/g, ' ')} `,
    )
  await until(async () => (await isInSync()) && (await areKnown()))
  const untilAnotherLeads = (port: number) => until(async () => (await masterPort()) !== port)
  return {
    limits,
    url: first.url,
    // The Sentinels name the servers by their own addresses.
    urlBy: () => {
      const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`)
      return `redis+sentinel://${hosts.join()}/${MASTER}`
    },
    kill: async () => {},
    start: async () => {},
    flush: async () => {},
    /** The server that leads dies, or hands over. Resolves when it has come back as a replica. */
    failOver: async (how: 'killed' | 'planned', awayMs: number) => {
      const port = await masterPort()
      const leader = servers.find((server) => server.port === port)
      if (how === 'planned') await ask(sentinel, 'sentinel', 'failover', MASTER)
      else await leader?.kill()
      await untilAnotherLeads(port)
      await delay(awayMs)
      if (how === 'killed') await leader?.start()
      await until(isInSync)
    },
    end: async () => {
      for (const { kill } of [...sentinels, ...servers]) await kill()
    },
  }
}

async function startSentinel(folder: string, n: number, masterPort: number) {
  const own = join(folder, `sentinel-${n}`)
  mkdirSync(own)
  const port = await freePort()
  const file = join(own, 'sentinel.conf')
  const settings = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${own}`,
    `sentinel monitor ${MASTER} 127.0.0.1 ${masterPort} 2`,
    `sentinel down-after-milliseconds ${MASTER} 1000`,
    `sentinel failover-timeout ${MASTER} 5000`,
  ]
  writeFileSync(file, `${settings.join('\n')}\n`)
  const child = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' })
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  await until(async () => (await ask(port, 'ping')).startsWith('PONG'))
  return { port, kill }
}

/** The answer of a server; empty if it does not answer. */
const ask = async (port: number, ...command: string[]) => {
  const run = promisify(execFile)('redis-cli', ['-p', String(port), ...command])
  const { stdout } = await run.catch(() => ({ stdout: '' }))
  return stdout
}

async function until(holds: () => Promise<boolean>) {
  const end = performance.now() + PATIENCE_MS
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('Redis did not become what it should')
    await delay(ASK_EVERY_MS)
  }
}
