import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabaseProxy } from './database-proxy.ts'

/** Whether Debian's pgbouncer, or another, is there. */
export const hasPgbouncer = spawnSync('pgbouncer', ['--version']).status === 0

/** The user that pgbouncer runs as when the tests are root: it refuses to run as root. */
const NOBODY = 65_534

/** Part of the name of a socket in a folder of its own, so that no other process can take it. */
const PORT = '6432'

/** Starts pgbouncer in front of a database, with these settings. */
export async function startPgbouncer(databaseUrl: string, settings: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-pgbouncer-'))
  // Another user may not be allowed into the folder of the database's socket.
  const proxy = await openDatabaseProxy(databaseUrl)
  const { hostname, port: proxyPort } = new URL(proxy.url)
  const { username, password, pathname } = new URL(databaseUrl)
  const database = {
    host: hostname,
    port: proxyPort,
    user: decodeURIComponent(username),
    ...(password && { password: decodeURIComponent(password) }),
  }
  const config = [
    '[databases]',
    `* = ${Object.entries(database)
      .map(([name, value]) => `${name}=${value}`)
      .join(' ')}`,
    '[pgbouncer]',
    ...Object.entries({
      listen_addr: '',
      listen_port: PORT,
      unix_socket_dir: folder,
      auth_type: 'any',
      ...settings,
    }).map(([name, value]) => `${name} = ${value}`),
  ]
  const file = join(folder, 'pgbouncer.ini')
  chmodSync(folder, 0o777)
  writeFileSync(file, `${config.join('\n')}\n`)
  const isRoot = process.getuid?.() === 0
  const child = spawn('pgbouncer', [file], {
    ...(isRoot && { uid: NOBODY, gid: NOBODY }),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (data) => {
      output += data
      if (output.includes(`listening on unix:${folder}`)) resolve()
    })
    child.on('exit', () => reject(new Error(`pgbouncer ended: ${output}`)))
  })
  return {
    url: `postgres://${username}@${encodeURIComponent(folder)}:${PORT}${pathname}`,
    stop: async () => {
      child.removeAllListeners('exit')
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
      proxy.stop()
      rmSync(folder, { recursive: true })
    },
  }
}
