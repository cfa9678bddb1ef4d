import { topics } from '@parley/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { batches, headed, withstandsBatch, withstandsHeaders } from './support/hostile/calls.ts'
import { framesFor, withstandsFrames } from './support/hostile/frames.ts'
import { RawSocket } from './support/socket.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
/** The same frames in each run: `test/long/hostile-flood.long.ts` sends others. */
const seed = Number(process.env.HOSTILE_SEED ?? 1)

test('a socket answers hostile frames, or closes with a reason', async () => {
  const ana = await world().user('ana')
  const { id } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const { appId, url } = world()
  const own = [topics.channel(appId, id), topics.user(appId, 'ana')]
  const target = { url, wsToken: ana.minted.wsToken, topics: own }
  const property = fc.asyncProperty(framesFor(own), (frames) =>
    withstandsFrames(target, frames).then(() => {}),
  )
  await fc.assert(property, { seed, numRuns: 150 })
  // And it still serves.
  const raw = await RawSocket.connect(world(), ana)
  expect(await raw.ask({ id: 2, subscribe: { channel: own[0] } })).not.toHaveProperty('error')
  raw.socket.terminate()
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
