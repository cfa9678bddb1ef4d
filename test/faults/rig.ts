import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createDataFolder } from '../support/folders.ts'
import { serveProvider } from '../support/provider.ts'
import { createAppWith, MEMBERS, probeOf, VISITORS } from './app.ts'
import { type DatabaseOptions, startDatabase } from './database.ts'
import { emptyHistory } from './empty-history.ts'
import type { Fault, History } from './history.ts'
import { openLine } from './line.ts'
import { probesOf } from './probes.ts'
import { createPrograms } from './programs.ts'
import { createRandom } from './random.ts'
import { serveHooks } from './receiver.ts'
import { type RedisKind, startRedisOf } from './redis.ts'
import { bounds, untilServing } from './serving.ts'

export type Rig = Awaited<ReturnType<typeof openRig>>
export type Node = Rig['nodes'][number]

export type RigOptions = DatabaseOptions & {
  seed: number
  /** The folder of the bundled programs. */
  programs: string
  nodes: number
  /** Whether nothing else runs on this machine. */
  isMachineIdle?: boolean
  /** How the nodes notify each other; by default through the database. */
  redis?: RedisKind | undefined
  /** Whether the app has a webhook for all of its events. */
  hasWebhook?: boolean
}

/**
 * A database, nodes and a worker as programs of their own, with a proxy on every way between them
 * and to their callers, and an app with users and channels.
 */
export async function openRig({ seed, programs, nodes: count, ...options }: RigOptions) {
  const began = performance.now()
  const now = () => performance.now() - began
  const folder = createDataFolder('faults-logs')
  const history = emptyHistory(bounds(options.isMachineIdle === true))
  const database = await startDatabase(options)
  const provider = await serveProvider()
  const receiver = await serveHooks(history)
  const redis = options.redis && (await startRedisOf(options.redis, folder))
  const { openNode, openWorker } = createPrograms({
    ...options,
    ...{ programs, folder, database, redis, provider, receiver },
    onDeath: (line) => void history.deaths.push(line),
  })
  const nodes = await Promise.all(Array.from({ length: count }, (_, index) => openNode(index)))
  const worker = await openWorker()
  await Promise.all([...nodes.map((node) => node.start()), worker.process.start()])
  // Stands for a load balancer: leads to the next node that runs.
  let turn = 0
  const front = await openLine(() => {
    const running = nodes.filter(({ process }) => process.isRunning())
    const choice = running.length > 0 ? running : nodes
    return choice[turn++ % choice.length]?.url ?? ''
  })
  const app = await createAppWith({
    url: nodes[0]?.url ?? '',
    nodes: count,
    webhookUrl: options.hasWebhook && receiver.url,
  })
  history.members = MEMBERS
  history.hasWebhook = options.hasWebhook === true
  history.visitors = VISITORS.map((userId) => ({ userId, isConnected: false }))

  return {
    ...app,
    seed,
    /** The folder of a bundled program. */
    programOf: (name: string) => join(programs, `${name}.mjs`),
    random: createRandom(seed),
    now,
    history,
    database,
    redis,
    provider,
    receiver,
    nodes,
    worker,
    /** Any node, as callers find one. */
    url: `http://${front.host}`,
    /** Carries out a fault, and records when it was. */
    fault: (about: Pick<Fault, 'name' | 'node' | 'breaksAnswers'>, work: () => Promise<unknown>) =>
      recordFault(history, { ...about, now, work }),
    /** Waits until each of these nodes serves, and records how long that took. */
    measureReturn: (back: { url: string; index: number }[]) =>
      Promise.all(
        back.map(async (node) => {
          const token = app.tokenOf(probeOf(node.index))
          const channelId = app.probeChannels[node.index]?.id ?? ''
          const returned = await untilServing(probesOf({ history, node, token, channelId }))
          history.returns.push({ node: node.index, ...returned })
        }),
      ),
    stop: async () => {
      await Promise.all([...nodes, worker].map((program) => program.end()))
      front.close()
      await redis?.end()
      await receiver.end()
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
