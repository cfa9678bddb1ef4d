import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { topics } from '@parley/contract'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { batches, headed, withstandsBatch, withstandsHeaders } from '../support/hostile/calls.ts'
import { framesFor, withstandsFrames } from '../support/hostile/frames.ts'
import { useWorld } from '../support/world.ts'

/** Hostile requests and frames, at a node in a process of its own that tells how it fares. */
const world = useWorld()
let node: ChildProcess
let url = ''
beforeAll(async () => {
  node = fork(new URL('./node.ts', import.meta.url), [world().databaseUrl], {
    execArgv: ['--conditions=parley-source', '--expose-gc', '--import', 'tsx'],
  })
  const [address] = await once(node, 'message')
  url = String(address)
})
afterAll(() => void node.kill('SIGKILL'))

type State = { longestMs: number; heapBytes: number }
async function stateOf() {
  node.send('state')
  const [state] = await once(node, 'message')
  return state as State // as the node sends it
}

const TOTAL = Number(process.env.HOSTILE_TOTAL ?? 100_000)
const ROUNDS = 10
const AT_ONCE = 8
const LONGEST_STALL_MS = 250
const MOST_GROWTH_BYTES = 32 * 1024 * 1024

const seed = Number(process.env.HOSTILE_SEED ?? Math.floor(Math.random() * 2 ** 31))
console.log(`${TOTAL} hostile requests and frames: HOSTILE_SEED=${seed}`)

test(`${TOTAL} hostile requests and frames cause no server error, stall or leak`, async () => {
  const ana = await world().user('ana')
  const { id } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const own = [topics.channel(world().appId, id), topics.user(world().appId, 'ana')]
  const socket = { url, wsToken: ana.minted.wsToken, topics: own }
  const caller = { url, headers: { authorization: `Bearer ${ana.token}` } }
  const runs = TOTAL / ROUNDS / AT_ONCE
  const attack = (round: number) =>
    Promise.all(
      Array.from({ length: AT_ONCE }, (_, attacker) => {
        const parameters = { seed: seed + round * AT_ONCE + attacker, numRuns: Math.ceil(runs) }
        if (attacker < 3)
          return fc.assert(
            fc.asyncProperty(framesFor(own), (frames) => withstandsFrames(socket, frames)),
            parameters,
          )
        if (attacker < 5)
          return fc.assert(
            fc.asyncProperty(batches, (batch) => withstandsBatch(caller, batch)),
            parameters,
          )
        return fc.assert(
          fc.asyncProperty(headed, (request) => withstandsHeaders(url, request)),
          parameters,
        )
      }),
    )
  const states: State[] = []
  // What is compiled for the first time takes longer.
  await attack(ROUNDS)
  await stateOf()
  for (let round = 0; round < ROUNDS; round++) {
    await attack(round)
    states.push(await stateOf())
  }
  console.table(states)
  expect(Math.max(...states.map(({ longestMs }) => longestMs))).toBeLessThan(LONGEST_STALL_MS)
  // What is compiled and cached once is there after the first rounds.
  const [early, last] = [states[2], states.at(-1)]
  expect((last?.heapBytes ?? 0) - (early?.heapBytes ?? 0)).toBeLessThan(MOST_GROWTH_BYTES)
}, 1_800_000)
