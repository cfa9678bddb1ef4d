import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll } from 'vitest'
import type { World } from '../support/world.ts'

/** What a node has done since it was last asked. */
type Work = { statements: string[]; longestUseMs: number }
/** The delay that all but a thousandth stay below, and the longest one. */
export type Delays = { usualMs: number; longestMs: number }

/**
 * A node in a process of its own, on the database of a world: so the node is measured, and not its
 * clients.
 */
export function useMeasuredNode(world: () => World) {
  let node: ChildProcess
  let url = ''
  beforeAll(async () => {
    node = fork(new URL('./node.ts', import.meta.url), [world().databaseUrl], {
      execArgv: ['--conditions=parley-source', '--import', 'tsx'],
    })
    const [address] = await once(node, 'message')
    url = String(address)
  })
  afterAll(() => void node.kill('SIGKILL'))

  const ask = async (question: string): Promise<unknown> => {
    node.send(question)
    const [answer] = await once(node, 'message')
    return answer
  }
  return {
    url: () => url,
    /** How late its event loop was meanwhile. */
    delayDuring: async (work: () => Promise<unknown>) => {
      await ask('delay')
      await work()
      return (await ask('delay')) as Delays // as the node sends it
    },
    work: async () => (await ask('work')) as Work, // as the node sends it
  }
}
