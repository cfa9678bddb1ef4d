import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createApi } from '@parley/client/api'
import { topics } from '@parley/contract'
import { createDataFolder } from '../support/folders.ts'
import { serveProvider } from '../support/provider.ts'
import { ADMIN_KEY, SECRET } from '../support/secrets.ts'
import { type DatabaseOptions, startDatabase } from './database.ts'
import { type Fault, GRACE_MS, type History } from './history.ts'
import { openLine } from './line.ts'
import { createProgram } from './process.ts'
import { createRandom } from './random.ts'

export type Rig = Awaited<ReturnType<typeof openRig>>
export type Node = Rig['nodes'][number]

export type RigOptions = DatabaseOptions & {
  seed: number
  /** The folder of the bundled programs. */
  programs: string
  nodes: number
  /** The library that fakes the clock of the nodes, if the scenario needs it. */
  clockLibrary?: string | undefined
  /** Nothing else runs on this machine. */
  isMachineIdle?: boolean
}

const MEMBERS = ['ana', 'ben', 'cem', 'dan', 'eva', 'fay']
const VISITORS = ['gus', 'hal']
const CHANNELS = 3

/**
 * A database, nodes and a worker as programs of their own, with a proxy on every way between them
 * and to their callers, and an app with users and channels.
 */
export async function openRig({ seed, programs, nodes: count, ...options }: RigOptions) {
  const began = performance.now()
  const now = () => performance.now() - began
  const folder = createDataFolder('faults-logs')
  const history = emptyHistory(options.isMachineIdle === true)
  const database = await startDatabase(options)
  const provider = await serveProvider()
  const onDeath = (line: string) => void history.deaths.push(line)
  const environment = {
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    PORT: '0',
    JWT_SECRET: SECRET,
    ADMIN_API_KEY: ADMIN_KEY,
    RATE_LIMIT_TOKENS: '0',
    RATE_LIMIT_MESSAGES: '0',
    RATE_LIMIT_REQUESTS: '0',
    PRESENCE_GRACE_SECONDS: String(GRACE_MS / 1_000),
    SHUTDOWN_DELAY_SECONDS: '0',
    JOBS: 'external',
    PUSH_SECRET_KEY: provider.settings.secretKey,
    PUSH_API_URL: provider.settings.apiUrl,
  }
  const open = async (name: string, command: 'start' | 'worker') => {
    const databaseLine = await openLine(() => database.url)
    const clockFile = join(folder, `${name}.clock`)
    const setClock = (seconds: number) =>
      writeFileSync(clockFile, `${seconds >= 0 ? '+' : ''}${seconds}`)
    setClock(0)
    const process = createProgram({
      name,
      command,
      programs,
      cwd: folder,
      environment: {
        ...environment,
        DATABASE_URL: database.urlBy(databaseLine.host),
        ...(options.schema && { DATABASE_SCHEMA: options.schema }),
        ...(options.clockLibrary && {
          LD_PRELOAD: options.clockLibrary,
          FAKETIME_TIMESTAMP_FILE: clockFile,
          FAKETIME_NO_CACHE: '1',
          FAKETIME_DONT_FAKE_MONOTONIC: '1',
        }),
      },
      onDeath,
    })
    return { process, databaseLine, setClock }
  }
  const openNode = async (index: number) => {
    const node = await open(`node-${index}`, 'start')
    let address = 'http://127.0.0.1:9'
    const line = await openLine(() => address)
    const start = async () => {
      address = await node.process.start()
    }
    return { ...node, index, line, url: `http://${line.host}`, start }
  }
  const nodes = await Promise.all(Array.from({ length: count }, (_, index) => openNode(index)))
  const worker = await open('worker', 'worker')
  await Promise.all([...nodes.map((node) => node.start()), worker.process.start()])
  // What a load balancer does: it leads to the next node that runs.
  let turn = 0
  const front = await openLine(() => {
    const running = nodes.filter(({ process }) => process.isRunning())
    const choice = running.length > 0 ? running : nodes
    return choice[turn++ % choice.length]?.url ?? ''
  })
  const app = await createAppWith(nodes[0]?.url ?? '')
  history.members = MEMBERS
  history.visitors = VISITORS.map((userId) => ({ userId, isConnected: false }))

  return {
    ...app,
    seed,
    random: createRandom(seed),
    now,
    history,
    database,
    provider,
    nodes,
    worker,
    wsUrl: `ws://${front.host}/connection/websocket`,
    /** Does what a fault is, and keeps in the history when it was. */
    fault: (about: Pick<Fault, 'name' | 'node' | 'breaksAnswers'>, work: () => Promise<unknown>) =>
      recordFault(history, { ...about, now, work }),
    /** Waits until each of these nodes serves, and keeps how long that took. */
    measureReturn: (back: { url: string; index: number }[]) =>
      Promise.all(
        back.map(async ({ url, index }) => {
          const milliseconds = await untilServing(url, app.tokenOf('ana'))
          history.returns.push({ node: index, milliseconds })
        }),
      ),
    stop: async () => {
      await Promise.all([...nodes, worker].map(({ process }) => process.end('SIGKILL')))
      for (const { line, databaseLine } of nodes) {
        line.close()
        databaseLine.close()
      }
      worker.databaseLine.close()
      front.close()
      await provider.stop()
      await database.end()
      rmSync(folder, { recursive: true })
    },
  }
}

async function recordFault(
  { faults }: History,
  {
    now,
    work,
    ...about
  }: Omit<Fault, 'from' | 'to'> & { now: () => number; work: () => Promise<unknown> },
) {
  const fault = { ...about, from: now(), to: Number.POSITIVE_INFINITY }
  faults.push(fault)
  try {
    await work()
  } finally {
    fault.to = now()
  }
}

async function createAppWith(url: string) {
  const { id: appId, apiKey } = await createApi({ url, adminKey: ADMIN_KEY }).apps.create({
    name: 'Faults',
  })
  const backend = createApi({ url, apiKey })
  const users = [...MEMBERS, ...VISITORS]
  const minted = await Promise.all(users.map((userId) => backend.tokens.create({ userId })))
  const tokens = new Map(users.map((userId, index) => [userId, minted[index]]))
  const owner = createApi({ url, token: minted[0]?.token ?? '' })
  const channels: { id: string; topic: string }[] = []
  for (let index = 0; index < CHANNELS; index++) {
    const given = { type: 'group', name: `Talk ${index}`, memberIds: users.slice(1) } as const
    const { id } = await owner.channels.create(given)
    channels.push({ id, topic: topics.channel(appId, id) })
  }
  return {
    appId,
    apiKey,
    channels,
    tokenOf: (userId: string) => tokens.get(userId)?.token ?? '',
    wsTokenOf: (userId: string) => tokens.get(userId)?.wsToken ?? '',
  }
}

/** What is promised of a node whose database is back. */
const RETURN_MS = 2_000
/** What a machine may be slower that does other work as well. The figures say what was measured. */
const BUSY = 5
/** What is promised of counts and presence, without a reconnect: most of it is pauses. */
const TOLD_MS = 15_000
/** How much longer the statements of a busy machine may take, which are five at most. */
const SLOW_MS = 10_000
const ASK_EVERY_MS = 50
const RETURN_GIVEN_UP_MS = 60_000

/** How many milliseconds pass until a call that needs the database succeeds. */
async function untilServing(url: string, token: string) {
  const began = performance.now()
  const life = new AbortController()
  let isServing = false
  const ask = async () => {
    const response = await fetch(`${url}/api/channels/unread-count`, {
      headers: { authorization: `Bearer ${token}` },
      signal: life.signal,
    }).catch(() => undefined)
    if (response?.ok) isServing = true
    await response?.text().catch(() => {})
  }
  while (!isServing && performance.now() - began < RETURN_GIVEN_UP_MS) {
    void ask()
    await delay(ASK_EVERY_MS)
  }
  const milliseconds = performance.now() - began
  life.abort()
  return milliseconds
}

const emptyHistory = (isMachineIdle: boolean): History => ({
  closures: 0,
  returnWithinMs: isMachineIdle ? RETURN_MS : BUSY * RETURN_MS,
  told: [],
  toldWithinMs: isMachineIdle ? TOLD_MS : TOLD_MS + SLOW_MS,
  calls: [],
  faults: [],
  returns: [],
  deaths: [],
  messages: [],
  reactions: [],
  reads: [],
  freezes: [],
  refusals: [],
  subscriptions: [],
  pushes: [],
  members: [],
  visitors: [],
  found: {
    channels: [],
    events: [],
    listings: [],
    recounts: [],
    unread: [],
    positions: [],
    presence: [],
    frozen: [],
  },
})
