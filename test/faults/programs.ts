import { join } from 'node:path'
import { ADMIN_KEY, SECRET } from '../support/secrets.ts'
import { openClock } from './clock.ts'
import { GRACE_MS } from './history.ts'
import { openLine } from './line.ts'
import { createProgram } from './process.ts'

type ProgramsOptions = {
  /** The folder of the bundled programs. */
  programs: string
  /** Where they run, and where the files of their clocks lie. */
  folder: string
  database: { url: string; urlBy: (host: string) => string }
  redis: { url: string; urlBy: (host: string) => string; limits: string } | undefined
  schema?: string | undefined
  clockLibrary?: string | undefined
  provider: { settings: { secretKey: string; apiUrl: string } }
  receiver: { host: string }
  onDeath: (line: string) => void
}

/** Makes the nodes and the worker of a run, with a proxy on each of their ways. */
export function createPrograms({ programs, folder, redis, onDeath, ...options }: ProgramsOptions) {
  const { database, provider, receiver, schema, clockLibrary } = options
  const limit = redis?.limits ?? '0'
  const environment = {
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    PORT: '0',
    JWT_SECRET: SECRET,
    ADMIN_API_KEY: ADMIN_KEY,
    RATE_LIMIT_TOKENS: limit,
    RATE_LIMIT_MESSAGES: limit,
    RATE_LIMIT_REQUESTS: limit,
    PRESENCE_GRACE_SECONDS: String(GRACE_MS / 1_000),
    SHUTDOWN_DELAY_SECONDS: '0',
    JOBS: 'external',
    PUSH_SECRET_KEY: provider.settings.secretKey,
    PUSH_API_URL: provider.settings.apiUrl,
    WEBHOOK_ALLOW_HOSTS: receiver.host,
    ...(schema && { DATABASE_SCHEMA: schema }),
  }
  const open = async (name: string, command: 'start' | 'worker') => {
    const databaseLine = await openLine(() => database.url)
    const redisLine = await openLine(() => redis?.url ?? NOWHERE)
    const clock = openClock(join(folder, `${name}.clock`), clockLibrary)
    const process = createProgram({
      name,
      command,
      programs,
      cwd: folder,
      environment: {
        ...environment,
        DATABASE_URL: database.urlBy(databaseLine.host),
        ...(redis && { REDIS_URL: redis.urlBy(redisLine.host) }),
        ...clock.environment,
      },
      onDeath,
    })
    const end = async () => {
      await process.end('SIGKILL')
      databaseLine.close()
      redisLine.close()
    }
    return { process, databaseLine, redisLine, setClock: clock.set, end }
  }
  const openNode = async (index: number) => {
    const node = await open(`node-${index}`, 'start')
    let address = NOWHERE
    const line = await openLine(() => address)
    const start = async () => {
      address = await node.process.start()
    }
    const end = async () => {
      await node.end()
      line.close()
    }
    return { ...node, index, line, url: `http://${line.host}`, start, end }
  }
  return { openNode, openWorker: () => open('worker', 'worker') }
}

const NOWHERE = 'http://127.0.0.1:9'
