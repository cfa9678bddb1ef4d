import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Node, Rig } from './rig.ts'

/** A fault does its harm, waits, and repairs it. */
export type FaultFunction = (rig: Rig) => Promise<void>

/** Harm to a node, or to the way to it. */

export async function killNode(rig: Rig) {
  const node = rig.random.pick(rig.nodes)
  await rig.fault(stopping('kill -9', node), async () => {
    await node.process.end('SIGKILL')
    await delay(rig.random.between(100, 1_500))
    await node.start()
  })
}

/** The database has committed, and the node dies before it hears of it. */
export async function killAtCommit(rig: Rig) {
  const node = rig.random.pick(rig.nodes)
  await rig.fault(stopping('kill -9 at COMMIT', node), async () => {
    await node.databaseLine.swallowCommit()
    await node.process.end('SIGKILL')
    await delay(rig.random.between(100, 800))
    await node.start()
  })
}

export async function pauseNode(rig: Rig) {
  const node = rig.random.pick(rig.nodes)
  await rig.fault(stopping('SIGSTOP', node), async () => {
    node.process.pause()
    await delay(rig.random.between(1_000, 6_000))
    node.process.proceed()
  })
}

export async function rollNodes(rig: Rig) {
  for (const node of rig.nodes)
    await rig.fault(stopping('SIGTERM', node), async () => {
      await node.process.end('SIGTERM')
      await node.start()
    })
}

export async function cutCallers(rig: Rig) {
  const node = rig.random.pick(rig.nodes)
  await rig.fault(stopping('callers cut', node), async () => node.line.cut())
}

export async function silenceCallers(rig: Rig) {
  const node = rig.random.pick(rig.nodes)
  await rig.fault(stopping('callers half-open', node), async () => {
    node.line.silence()
    await delay(rig.random.between(500, 3_000))
    node.line.cut()
  })
}

export async function freezeCallers(rig: Rig) {
  const node = rig.random.pick(rig.nodes)
  await rig.fault(stopping('callers blackholed', node), async () => {
    node.line.freeze()
    await delay(rig.random.between(500, 4_000))
    node.line.thaw()
  })
}

export async function delayCallers(rig: Rig) {
  const node = rig.random.pick(rig.nodes)
  await rig.fault(harmless('callers delayed', node), async () => {
    node.line.delay(rig.random.between(50, 400))
    await delay(3_000)
    node.line.delay(0)
  })
}

/** Harm to the way between a node and the database. */

export async function loseCommit(rig: Rig) {
  const node = rig.random.pick(rig.nodes)
  await rig.fault(harmless("COMMIT's answer swallowed", node), () =>
    node.databaseLine.swallowCommit(),
  )
}

export async function cutDatabaseLine(rig: Rig) {
  const node = rig.random.pick(rig.nodes)
  await rig.fault(harmless('database line cut', node), async () => node.databaseLine.cut())
  await rig.measureReturn([node])
}

export async function finishDatabaseLine(rig: Rig) {
  const node = rig.random.pick(rig.nodes)
  await rig.fault(harmless('database line closed', node), async () => node.databaseLine.finish())
  await rig.measureReturn([node])
}

export async function freezeDatabaseLine(rig: Rig) {
  const node = rig.random.pick(rig.nodes)
  await rig.fault(harmless('database blackholed', node), async () => {
    node.databaseLine.freeze()
    await delay(rig.random.between(1_000, 8_000))
    node.databaseLine.thaw()
  })
  await rig.measureReturn([node])
}

/** The node notices only by its own deadlines. */
export async function silenceDatabaseLine(rig: Rig) {
  const node = rig.random.pick(rig.nodes)
  await rig.fault(harmless('database half-open', node), async () => {
    node.databaseLine.silence()
    await delay(12_000)
  })
}

export async function delayDatabaseLine(rig: Rig) {
  const node = rig.random.pick(rig.nodes)
  await rig.fault(harmless('database delayed', node), async () => {
    node.databaseLine.delay(rig.random.between(5, 60))
    await delay(3_000)
    node.databaseLine.delay(0)
  })
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
  broker: ['parley-broker'],
  worker: ['parley-worker', 'parley-jobs'],
}
export async function terminateBackends(rig: Rig) {
  const kind = rig.random.pick(['pool', 'broker', 'worker'] as const)
  await rig.fault({ ...everywhere, name: `backends terminated (${kind})` }, () =>
    rig.database.terminate(BACKENDS[kind]),
  )
  await rig.measureReturn(rig.nodes)
}

/** The database's disk is a small one in memory: see the scenario. */
export async function fillDisk(rig: Rig) {
  const ballast = join(rig.database.folder, '..', 'ballast')
  await rig.fault({ ...everywhere, name: 'disk full' }, async () => {
    const { bavail, bsize } = statfsSync(rig.database.folder)
    try {
      writeFileSync(ballast, Buffer.alloc(bavail * bsize))
    } catch (error) {
      // The database was faster: what is left is full too.
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error // of writeFileSync
    }
    await delay(rig.random.between(2_000, 5_000))
    rmSync(ballast)
    await rig.database.revive()
  })
  await rig.measureReturn(rig.nodes)
}

/** Harm to the clock of a node and to the worker. */

const CLOCK_STEPS = [-3_600, -600, -5, 5, 600, 3_000]
export async function stepClock(rig: Rig) {
  const victim = rig.random.pick([...rig.nodes, rig.worker])
  const name = `clock of ${victim === rig.worker ? 'the worker' : 'a node'} stepped`
  await rig.fault({ ...everywhere, name }, async () => {
    victim.setClock(rig.random.pick(CLOCK_STEPS))
    await delay(rig.random.between(1_000, 4_000))
    victim.setClock(0)
  })
}

/** The provider loses a call and does not answer it. The next worker must repeat it. */
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

const everywhere = { node: undefined, breaksAnswers: false }
const stopping = (name: string, { index }: Node) => ({ name, node: index, breaksAnswers: true })
const harmless = (name: string, { index }: Node) => ({ name, node: index, breaksAnswers: false })
