import { topics } from '@parley/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { batches, headed, withstandsBatch, withstandsHeaders } from './support/hostile/calls.ts'
import { framesFor, withstandsFrames } from './support/hostile/frames.ts'
import { streamsFor, withstandsStream } from './support/hostile/streams.ts'
import { useSurvival } from './support/hostile/survival.ts'
import { trpcFramesFor, withstandsTrpcFrames } from './support/hostile/trpc-frames.ts'
import { RawSocket } from './support/socket.ts'
import { until } from './support/until.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const expectSurvival = useSurvival(world)
/** The same frames in each run: `test/long/hostile-flood.long.ts` sends others. */
const seed = Number(process.env.HOSTILE_SEED ?? 1)

/** A user of one channel, and the topics that they may subscribe to. */
async function createTarget() {
  const ana = await world().user('ana')
  const { id } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const { appId, url } = world()
  const own = [topics.channel(appId, id), topics.user(appId, 'ana')]
  return { ana, url, wsToken: ana.minted.wsToken, topics: own }
}

test('a socket answers hostile frames, or closes with a reason', async () => {
  const { ana, ...target } = await createTarget()
  const property = fc.asyncProperty(framesFor(target.topics), (frames) =>
    withstandsFrames(target, frames).then(() => {}),
  )
  await fc.assert(property, { seed, numRuns: 150 })
  // The server still works.
  const raw = await RawSocket.connect(world(), ana)
  expect(await raw.ask({ id: 2, subscribe: { channel: target.topics[0] } })).not.toHaveProperty(
    'error',
  )
  raw.socket.terminate()
})

test('a tRPC socket answers hostile frames, or closes with a reason', async () => {
  const target = await createTarget()
  const property = fc.asyncProperty(trpcFramesFor(target.topics), (frames) =>
    withstandsTrpcFrames(target, frames).then(() => {}),
  )
  await fc.assert(property, { seed, numRuns: 100 })
})

test('a stream answers hostile frames, or ends with a reason', async () => {
  const target = await createTarget()
  const property = fc.asyncProperty(streamsFor(target.topics), (frames) =>
    withstandsStream(target, frames).then(() => {}),
  )
  await fc.assert(property, { seed, numRuns: 100 })
})

test('each call of a hostile tRPC batch is answered or refused', async () => {
  const { token } = await world().user('ana')
  const target = { url: world().url, headers: { authorization: `Bearer ${token}` } }
  const property = fc.asyncProperty(batches, (batch) => withstandsBatch(target, batch))
  await fc.assert(property, { seed, numRuns: 60 })
})

test('hostile headers are refused in the form of errors', async () => {
  const { url } = world()
  const property = fc.asyncProperty(headed, (request) => withstandsHeaders(url, request))
  await fc.assert(property, { seed, numRuns: 150 })
})

test('no socket of a hostile client stays open', async () => {
  const { sockets } = world().metrics
  const isOver = async () => (await sockets.get()).values.every(({ value }) => value === 0)
  expect(await until(isOver)).toBe(true)
})

test('the server works after hostile frames and has no open transaction', expectSurvival)
