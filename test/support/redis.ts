import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { loadRedis } from '@parley/server/core/redis'
import { parseRedisUrl } from '@parley/server/core/redis-url'

/** Whether Debian's redis-server, or another, is there. */
export const hasRedis = spawnSync('redis-server', ['--version']).status === 0
if (!hasRedis) console.warn('redis-server is not installed: the tests with Redis are skipped')

/** A port that nothing listens on, a moment ago at least. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('not a port')
  return address.port
}

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
  return { url: `redis://127.0.0.1:${own}`, port: own, kill, start: () => start() }
}

/** What a server connects with. */
export async function redisAt(url: string, prefix = 'parley') {
  const target = parseRedisUrl(url)
  if (!target) throw new Error(`not a URL of Redis: ${url}`)
  // So patient that no call is counted elsewhere because the machine is busy.
  return { connect: await loadRedis(target), prefix, patienceMs: 60_000 }
}
