import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll } from 'vitest'
import { unhurried } from '../support/until.ts'
import type { World } from '../support/world.ts'
import type { NodeOptions } from './node.ts'
import type { Probed } from './probe.ts'

/**
 * The work of a node since it was last asked. `controlMs` is the present time of a statement that
 * takes about 5 ms where nothing else runs.
 */
type Work = { statements: string[]; longestUseMs: number; controlMs: number }
/**
 * The delay that all but a thousandth stay below, the one that the node stays below for all but a
 * thousandth of the time, and the longest one.
 */
export type Delays = { usualMs: number; byTimeMs: number; longestMs: number }

const start = (file: string, ...args: string[]) =>
  fork(new URL(file, import.meta.url), args, {
    execArgv: ['--conditions=parley-source', '--import', 'tsx'],
  })
async function ask(child: ChildProcess, question: string): Promise<unknown> {
  child.send(question)
  const [answer] = await once(child, 'message')
  return answer
}

/**
 * A node in a process of its own, on the database of a world: so the node is measured, and not its
 * clients.
 */
export function useMeasuredNode(world: () => World, options: NodeOptions = {}) {
  let node: ChildProcess
  let probe: ChildProcess | undefined
  let url = ''
  beforeAll(async () => {
    node = start(
      './node.ts',
      world().databaseUrl,
      JSON.stringify({ patience: unhurried, ...options }),
    )
    const [address] = await once(node, 'message')
    url = String(address)
  })
  afterAll(() => {
    node.kill('SIGKILL')
    probe?.kill('SIGKILL')
  })

  const startProbe = async () => {
    const { minted } = await world().user('probe')
    const started = start('./probe.ts', url, minted.wsToken)
    await once(started, 'message')
    return started
  }
  return {
    url: () => url,
    /** How late its event loop was meanwhile, and what another client noticed of that. */
    delayDuring: async (work: () => Promise<unknown>) => {
      probe ??= await startProbe()
      await ask(probe, 'probed')
      await ask(node, 'delay')
      await work()
      const delays = (await ask(node, 'delay')) as Delays // as the node sends it
      const probed = (await ask(probe, 'probed')) as Probed // as the probe sends it
      return { ...delays, ...probed }
    },
    work: async () => (await ask(node, 'work')) as Work, // as the node sends it
  }
}
