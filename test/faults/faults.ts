import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { CLOSED_IN_TRANSACTIONS } from './history.ts'
import type { Node, Rig } from './rig.ts'

/** A fault breaks something, waits, and repairs it. */
export type FaultFunction = (rig: Rig) => Promise<void>

type NodeHarm = {
  /** Whether answers to the node's calls may be lost. */
  breaksAnswers: boolean
}
/** A fault of one node, whichever the random numbers pick. */
const ofNode =
  (
    name: string,
    { breaksAnswers }: NodeHarm,
    harm: (node: Node, rig: Rig) => Promise<unknown>,
  ): FaultFunction =>
  async (rig) => {
    const node = rig.random.pick(rig.nodes)
    await rig.fault({ name, node: node.index, breaksAnswers }, () => harm(node, rig))
  }
const stopping = { breaksAnswers: true }
const harmless = { breaksAnswers: false }
/**
 * The share of the answers within transactions that are cut: small enough for a repeated call to
 * get through.
 */
const CLOSED_SHARE = 0.15
export const everywhere = { node: undefined, breaksAnswers: false }

/** Harm to a node, or to the way to it. */

export const killNode = ofNode('kill -9', stopping, async (node, { random }) => {
  await node.process.end('SIGKILL')
  await delay(random.between(100, 1_500))
  await node.start()
})

/** The database has committed, and the node dies before it receives the answer. */
export const killAtCommit = ofNode('kill -9 at COMMIT', stopping, async (node, { random }) => {
  await node.databaseLine.swallowCommit()
  await node.process.end('SIGKILL')
  await delay(random.between(100, 800))
  await node.start()
})

export const pauseNode = ofNode('SIGSTOP', stopping, async (node, { random }) => {
  node.process.pause()
  await delay(random.between(1_000, 6_000))
  node.process.proceed()
})

export async function rollNodes(rig: Rig) {
  for (const node of rig.nodes)
    await rig.fault({ ...stopping, name: 'SIGTERM', node: node.index }, async () => {
      await node.process.end('SIGTERM')
      await node.start()
    })
}

export const cutCallers = ofNode('callers cut', stopping, async (node) => node.line.cut())

export const silenceCallers = ofNode('callers half-open', stopping, async (node, { random }) => {
  node.line.silence()
  await delay(random.between(500, 3_000))
  node.line.cut()
})

export const freezeCallers = ofNode('callers blackholed', stopping, async (node, { random }) => {
  node.line.freeze()
  await delay(random.between(500, 4_000))
  node.line.thaw()
})

export const delayCallers = ofNode('callers delayed', harmless, async (node, { random }) => {
  node.line.delay(random.between(50, 400))
  await delay(3_000)
  node.line.delay(0)
})

/** Harm to the way between a node, or the worker, and the database. */

type DatabaseLine = Node['databaseLine']
const ofDatabaseLine =
  (
    name: string,
    { isMeasured }: { isMeasured: boolean },
    harm: (line: DatabaseLine, rig: Rig) => Promise<unknown>,
  ): FaultFunction =>
  async (rig) => {
    const victim = rig.random.pick([...rig.nodes, rig.worker])
    const node = rig.nodes.find((node) => node === victim)
    const about = {
      name: node ? name : `${name} (worker)`,
      node: node?.index,
      breaksAnswers: false,
    }
    await rig.fault(about, () => harm(victim.databaseLine, rig))
    if (node && isMeasured) await rig.measureReturn([node])
  }
const measured = { isMeasured: true }
const unmeasured = { isMeasured: false }

export const loseCommit = ofNode("COMMIT's answer swallowed", harmless, (node) =>
  node.databaseLine.swallowCommit(),
)

export const cutDatabaseLine = ofDatabaseLine('database line cut', measured, async (line) =>
  line.cut(),
)

export const finishDatabaseLine = ofDatabaseLine('database line closed', measured, async (line) =>
  line.finish(),
)

export const refuseDatabaseLine = ofDatabaseLine(
  'database connections closed as they open',
  measured,
  async (line) => {
    line.refuse()
    await delay(2_000)
    line.accept()
  },
)

export const freezeDatabaseLine = ofDatabaseLine(
  'database blackholed',
  measured,
  async (line, { random }) => {
    line.freeze()
    await delay(random.between(1_000, 8_000))
    line.thaw()
  },
)

/** The program notices only by its own deadlines. */
export const silenceDatabaseLine = ofDatabaseLine(
  'database half-open',
  unmeasured,
  async (line) => {
    line.silence()
    await delay(12_000)
  },
)

export const delayDatabaseLine = ofDatabaseLine(
  'database delayed',
  unmeasured,
  async (line, { random }) => {
    line.delay(random.between(5, 60))
    await delay(3_000)
    line.delay(0)
  },
)

/**
 * At every few answers within a transaction, closes the connection before or after the answer, as
 * when a server or a pooler goes away. Affects all nodes and the worker.
 */
export async function closeInTransactions(rig: Rig) {
  const { fraction, pick } = rig.random.fork()
  const lines = [...rig.nodes, rig.worker].map(({ databaseLine }) => databaseLine)
  const pickPlace = () => {
    if (fraction() > CLOSED_SHARE) return undefined
    rig.history.closures += 1
    return pick(['before', 'after'] as const)
  }
  await rig.fault({ ...everywhere, name: CLOSED_IN_TRANSACTIONS }, async () => {
    for (const line of lines) line.closeInTransactions(pickPlace)
    await delay(3_000)
    for (const line of lines) line.closeInTransactions()
  })
  await rig.measureReturn(rig.nodes)
}

/** Harm to the database itself. */

export const restartDatabase = (mode: 'fast' | 'immediate') => async (rig: Rig) => {
  await rig.fault({ ...everywhere, name: `database restarted, ${mode}` }, async () => {
    await rig.database.stop(mode)
    await delay(rig.random.between(0, 3_000))
    await rig.database.start()
  })
  await rig.measureReturn(rig.nodes)
}

const BACKENDS = {
  pool: ['parley'],
  broker: ['parley-broker', 'parley-listener'],
  worker: ['parley-worker', 'parley-jobs'],
}
export async function terminateBackends(rig: Rig) {
  const kind = rig.random.pick(['pool', 'broker', 'worker'] as const)
  await rig.fault({ ...everywhere, name: `backends terminated (${kind})` }, () =>
    rig.database.terminate(BACKENDS[kind]),
  )
  await rig.measureReturn(rig.nodes)
}

/** Here the database's disk is a small one in memory: see the scenario. */
export async function fillDisk(rig: Rig) {
  const ballast = join(rig.database.folder, '..', 'ballast')
  await rig.fault({ ...everywhere, name: 'disk full' }, async () => {
    const { bavail, bsize } = statfsSync(rig.database.folder)
    try {
      writeFileSync(ballast, Buffer.alloc(bavail * bsize))
    } catch (error) {
      // The database was faster, and has filled the rest itself.
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error // of writeFileSync
    }
    await delay(rig.random.between(2_000, 5_000))
    rmSync(ballast)
    await rig.database.revive()
  })
  await rig.measureReturn(rig.nodes)
}

/** Harm to the worker. */

/** The provider loses a call without an answer. The next worker must repeat it. */
export async function killWorkerAtPush(rig: Rig) {
  await rig.fault({ ...everywhere, name: 'worker kill -9 at a push' }, async () => {
    await new Promise<void>((resolve) =>
      rig.provider.behave((response, call) => {
        if (!call.path.startsWith('/v1/events/trigger')) return rig.provider.accept(response, call)
        rig.provider.behave()
        rig.provider.calls.splice(rig.provider.calls.indexOf(call), 1)
        resolve()
      }),
    )
    await rig.worker.process.end('SIGKILL')
    await rig.worker.process.start()
  })
}
