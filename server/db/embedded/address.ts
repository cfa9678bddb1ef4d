import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Account } from './account.ts'
import { digest, privateDirectory } from './data-dir.ts'
import { isPostmaster, isWindows, runningPostmaster } from './process.ts'

type AddressOptions = {
  dataDir: string
  clusterDirectory: string
  account: Account | undefined
}

/** The name of the socket, in a folder of its own. */
const SOCKET_PORT = 5432

/** How this process, and no other user of the machine, reaches the server. */
export type ServerAddress = {
  connection: { host: string; port: number; user: string; password?: string }
  url: string
  settings: Record<string, string>
  initdb: string[]
  /** To be called before a server starts at this address. */
  open(): void
  /** To be called after that server has ended. */
  close(): void
}

export const addressFor = (options: AddressOptions): Promise<ServerAddress> =>
  isWindows ? networkAddress(options) : socketAddress(options)

/**
 * Only the owner (and root) may enter the directory and use the socket: the kernel's permissions
 * take the place of a password.
 */
const socketAddress = async ({ dataDir, account }: AddressOptions) => {
  const directory = await privateDirectory(account)
  removeAbandoned(directory)
  const host = join(directory, `${SOCKET_PREFIX}${digest(dataDir)}`)
  const close = () => rmSync(host, { recursive: true, force: true })
  return {
    connection: { host, port: SOCKET_PORT, user: 'parley' },
    url: `postgres://parley@${encodeURIComponent(host)}:${SOCKET_PORT}/parley`,
    settings: {
      listen_addresses: '',
      port: String(SOCKET_PORT),
      unix_socket_directories: `"${host}"`,
      unix_socket_permissions: '0700',
    },
    initdb: ['--auth-local=trust', '--auth-host=scram-sha-256'],
    open: () => {
      // The socket lock of a dead server may name a pid that another process has by now.
      close()
      mkdirSync(host)
      chmodSync(host, 0o700)
      if (account) chownSync(host, account.uid, account.gid)
    },
    close,
  }
}

const SOCKET_PREFIX = 'socket-'

/**
 * Removes the sockets of servers that were killed, whose data directory may be gone for good. A
 * folder without a lock may be that of a server which is starting. The databases beside them stay:
 * that nobody uses one now does not mean that nobody will.
 */
const removeAbandoned = (directory: string) => {
  const folders = readdirSync(directory).filter((entry) => entry.startsWith(SOCKET_PREFIX))
  for (const folder of folders.map((entry) => join(directory, entry))) {
    const server = ownerOf(folder)
    if (server && !isPostmaster(server)) rmSync(folder, { recursive: true, force: true })
  }
}

/** The owner in PostgreSQL's lock file beside its socket; undefined if there is no such file. */
const ownerOf = (folder: string) => {
  const lock = join(folder, `.s.PGSQL.${SOCKET_PORT}.lock`)
  try {
    const [pid, directory = ''] = readFileSync(lock, 'utf8').split('\n')
    return { pid: Number(pid), directory }
  } catch {
    return undefined
  }
}

const networkAddress = async ({ dataDir, clusterDirectory }: AddressOptions) => {
  const passwordFile = join(dataDir, 'postgres.password')
  if (!existsSync(passwordFile))
    writeFileSync(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600 })
  const password = readFileSync(passwordFile, 'utf8')
  const port = runningPostmaster(clusterDirectory)?.port ?? (await freePort())
  return {
    connection: { host: '127.0.0.1', port, user: 'parley', password },
    url: `postgres://parley:${password}@127.0.0.1:${port}/parley`,
    settings: { listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: '' },
    initdb: ['--auth=scram-sha-256', `--pwfile=${passwordFile}`],
    open: () => {},
    close: () => {},
  }
}

const freePort = async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string')
    throw new Error('No free port for PostgreSQL')
  return address.port
}
