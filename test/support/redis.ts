import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadRedis } from '@parley/server/core/redis'
import { parseRedisUrl } from '@parley/server/core/redis-url'
import { certificates } from './certificates/index.ts'
import { freePort, freePorts } from './ports.ts'
import { openProxy } from './proxy.ts'
import { until } from './until.ts'

/** Whether Debian's redis-server, or another, is there. */
export const hasRedis = spawnSync('redis-server', ['--version']).status === 0
if (!hasRedis) console.warn('redis-server is not installed: the tests with Redis are skipped')

/** A Redis on a port of its own, which keeps nothing. `settings` are for its first start. */
export async function startRedis(port?: number, settings: string[] = []) {
  const own = port ?? (await freePort())
  let child: ChildProcess | undefined
  const start = async (given: string[] = []) => {
    const started = spawn('redis-server', [
      ...['--port', String(own), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
      ...['--repl-diskless-load', 'swapdb', ...given],
    ])
    child = started
    let output = ''
    await new Promise<void>((resolve, reject) => {
      started.stdout.on('data', (data) => {
        output += data
        if (output.includes('Ready to accept connections')) resolve()
      })
      started.on('exit', () => reject(new Error(`redis-server ended: ${output}`)))
    })
    started.removeAllListeners('exit')
  }
  const kill = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
  await start(settings)
  return {
    url: `redis://127.0.0.1:${own}`,
    port: own,
    pid: () => child?.pid,
    kill,
    start: () => start(),
  }
}

const PASSWORD = 'p@ss:w/rd%'

/** One that takes only TLS, by the certificate of a private CA for `localhost`, and a password. */
export async function startTlsRedis() {
  const port = await freePort()
  const redis = await startRedis(port, [
    ...['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no'],
    ...['--tls-cert-file', certificates.path('server.crt')],
    ...['--tls-key-file', certificates.path('server.key'), '--requirepass', PASSWORD],
  ])
  return { ...redis, url: `rediss://:${encodeURIComponent(PASSWORD)}@localhost:${port}` }
}

/** The Redis options of a server. */
export async function redisAt(url: string, prefix = 'parley') {
  const target = parseRedisUrl(url)
  if (!target) throw new Error(`not a URL of Redis: ${url}`)
  // The patience is long, so that no call is counted elsewhere because the machine is busy.
  return { connect: await loadRedis(target), prefix, patienceMs: 60_000 }
}

const SLOTS = 16_384

/** A cluster of two servers with half of the slots each; `second` is reached through a proxy. */
export async function startRedisCluster() {
  const folder = mkdtempSync(join(tmpdir(), 'parley-redis-'))
  const [firstPort = 0, secondPort = 0, ...buses] = await freePorts(4)
  const ports = [firstPort, secondPort]
  const second = await openProxy(`http://127.0.0.1:${secondPort}`)
  const announced = ['--cluster-announce-port', new URL(second.url).port]
  const servers = await Promise.all(
    buses.map((bus, n) =>
      startRedis(ports[n], [
        ...['--cluster-enabled', 'yes', '--dir', folder, '--cluster-config-file', `${n}.conf`],
        ...['--cluster-port', String(bus), '--cluster-announce-ip', '127.0.0.1'],
        ...(n === 1 ? announced : []),
      ]),
    ),
  )
  const connections = await Promise.all(
    servers.map(async ({ url }) =>
      (await redisAt(url)).connect({ name: 'admin', commandMs: 5_000 }),
    ),
  )
  await until(() => connections.every(({ isReady }) => isReady()))
  const admins = connections.map(({ client }) => client)
  const [first, other] = admins
  await first?.call('CLUSTER', 'ADDSLOTSRANGE', '0', '8191')
  await other?.call('CLUSTER', 'ADDSLOTSRANGE', '8192', String(SLOTS - 1))
  await other?.call('CLUSTER', 'MEET', '127.0.0.1', String(firstPort), String(buses[0]))
  const isWhole = async (admin: (typeof admins)[number]) =>
    String(await admin.call('CLUSTER', 'INFO')).includes('cluster_state:ok')
  await until(async () => (await Promise.all(admins.map(isWhole))).every((whole) => whole))
  /** Moves the slots from this one on to the first server, as resharding does. */
  const moveSlots = async (from: number) => {
    const owner = String(await first?.call('CLUSTER', 'MYID'))
    const slots = Array.from({ length: SLOTS - from }, (_, index) => String(from + index))
    const moves = (admin: (typeof admins)[number]) =>
      slots.map((slot) => admin.call('CLUSTER', 'SETSLOT', slot, 'NODE', owner))
    await Promise.all(admins.flatMap(moves))
  }
  const stop = async () => {
    for (const { close } of connections) close()
    for (const { kill } of servers) await kill()
    second.close()
    rmSync(folder, { recursive: true })
  }
  return { url: `redis+cluster://127.0.0.1:${firstPort}`, second, moveSlots, stop }
}
