import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { topics } from '@parley/contract'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { batches, headed, withstandsBatch, withstandsHeaders } from '../support/hostile/calls.ts'
import { framesFor, withstandsFrames } from '../support/hostile/frames.ts'
import { streamsFor, withstandsStream } from '../support/hostile/streams.ts'
import { trpcFramesFor, withstandsTrpcFrames } from '../support/hostile/trpc-frames.ts'
import { RawSocket } from '../support/socket.ts'
import { until } from '../support/until.ts'
import { createValidatedApi } from '../support/validated.ts'
import { useWorld } from '../support/world.ts'

/** Hostile requests and frames, at a node in a process of its own that reports how it fares. */
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

type State = { longestMs: number; heapBytes: number; openSockets: number }
async function stateOf() {
  node.send('state')
  const [state] = await once(node, 'message')
  return state as State // as the node sends it
}

/**
 * A user of another app, who sends a message soon after the one before was received. Returns a
 * function that ends this, and resolves to the texts that were sent and those that were received.
 */
async function beginTalk() {
  const eve = await world().user('eve', {}, await world().stranger())
  const { id: channelId } = await eve.channels.create({ type: 'group', name: 'Talk' })
  const raw = await RawSocket.connect({ url }, eve)
  const [sent, received]: [string[], string[]] = [[], []]
  let onReceived = () => {}
  raw.socket.on('message', (data) => {
    for (const line of String(data).split('\n')) {
      const message = JSON.parse(line)
      if (Object.keys(message).length === 0) raw.send({})
      const text = message.push?.pub?.data?.payload?.message?.text
      if (text === undefined) continue
      received.push(text)
      onReceived()
    }
  })
  await raw.ask({ id: 2, subscribe: { channel: topics.channel(eve.minted.appId, channelId) } })
  const api = createValidatedApi({ url, token: eve.token })
  const closed = raw.closed.then(({ code }) => {
    throw new Error(`the socket of the other app was closed with ${code}`)
  })
  closed.catch(() => {})
  let isOver = false
  const talk = async () => {
    while (!isOver) {
      const text = `hello ${sent.length}`
      const arrived = new Promise<void>((resolve) => {
        onReceived = resolve
      })
      await api.messages.send({ channelId, text })
      sent.push(text)
      await Promise.race([arrived, closed])
      // The pause keeps the talk from being a flood of its own.
      await Promise.race([pause(TALK_MS), closed])
    }
  }
  const talking = talk()
  // It is reported when the talk is ended.
  talking.catch(() => {})
  return async () => {
    isOver = true
    await talking
    raw.socket.terminate()
    return { sent, received }
  }
}

const TOTAL = Number(process.env.HOSTILE_TOTAL ?? 100_000)
const ROUNDS = 10
const AT_ONCE = 8
/** Fewer runs than requests and frames: half of them send frames, about two each. */
const RUNS = Math.ceil((TOTAL * 0.6) / ROUNDS / AT_ONCE)
const TALK_MS = 20
const LONGEST_STALL_MS = 250
const MOST_GROWTH_BYTES = 32 * 1024 * 1024

const seed = Number(process.env.HOSTILE_SEED ?? Math.floor(Math.random() * 2 ** 31))
console.log(`${TOTAL} hostile requests and frames: HOSTILE_SEED=${seed}`)

test(`${TOTAL} hostile requests and frames harm neither the server nor another app`, async () => {
  const ana = await world().user('ana')
  const { id } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const own = [topics.channel(world().appId, id), topics.user(world().appId, 'ana')]
  const socket = { url, wsToken: ana.minted.wsToken, topics: own }
  const caller = { url, headers: { authorization: `Bearer ${ana.token}` } }
  let done = 0
  const counted = async (sent: Promise<unknown>) => {
    const frames = await sent
    done += typeof frames === 'number' ? frames : 1
  }
  const way =
    <T>(sent: fc.Arbitrary<T>, withstands: (sent: T) => Promise<unknown>) =>
    (parameters: fc.Parameters<[T]>) =>
      fc.assert(
        fc.asyncProperty(sent, (each) => counted(withstands(each))),
        parameters,
      )
  const frames = way(framesFor(own), (sent) => withstandsFrames(socket, sent))
  const headers = way(headed, (request) => withstandsHeaders(url, request))
  const ways = [
    ...[frames, frames],
    way(trpcFramesFor(own), (sent) => withstandsTrpcFrames(socket, sent)),
    way(streamsFor(own), (sent) => withstandsStream(socket, sent)),
    way(batches, (batch) => withstandsBatch(caller, batch)),
    ...[headers, headers, headers],
  ]
  const attack = (round: number) =>
    Promise.all(
      ways.map((attack, attacker) =>
        attack({ seed: seed + round * ways.length + attacker, numRuns: RUNS }),
      ),
    )
  const states: State[] = []
  // A first round warms up, since code that is compiled for the first time is slower.
  await attack(ROUNDS)
  await stateOf()
  done = 0
  const endTalk = await beginTalk()
  for (let round = 0; round < ROUNDS; round++) {
    await attack(round)
    states.push(await stateOf())
  }
  const { sent, received } = await endTalk()
  await until(async () => (await stateOf()).openSockets === 0)
  console.log('requests and frames:', done, 'messages of another app meanwhile:', sent.length)
  expect(done).toBeGreaterThanOrEqual(TOTAL)
  expect(sent.length).toBeGreaterThanOrEqual(ROUNDS)
  expect(received).toEqual(sent)
  console.table(states)
  expect(Math.max(...states.map(({ longestMs }) => longestMs))).toBeLessThan(LONGEST_STALL_MS)
  // The heap is compared after the first rounds, when one-time caches and code are there.
  const [early, last] = [states[2], states.at(-1)]
  expect((last?.heapBytes ?? 0) - (early?.heapBytes ?? 0)).toBeLessThan(MOST_GROWTH_BYTES)
}, 1_800_000)
