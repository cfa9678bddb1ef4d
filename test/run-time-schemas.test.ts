import { topics } from '@parley/contract'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createFixtures } from './support/hostile/fixture.ts'
import { framesFor, withstandsFrames } from './support/hostile/frames.ts'
import { withstands } from './support/hostile/index.ts'
import { plainRequest } from './support/hostile/requests.ts'
import { trpcFramesFor, withstandsTrpcFrames } from './support/hostile/trpc-frames.ts'
import { operations } from './support/validated.ts'
import { useWorldWithProvider } from './support/world.ts'

const { world } = useWorldWithProvider()
const ENDING = /\.(bulkDelete|delete|remove|leave|revoke|accept|update|finish)/
const fixtureOf = createFixtures(world, (_, id) => !ENDING.test(id))

/** The places where schemas were built, found by the field that zod defines on each of them. */
function watchSchemas() {
  const { defineProperty } = Object
  const built: (string | undefined)[] = []
  Object.defineProperty = (target, key, descriptor) => {
    // Errors of schemas have this field as well, with a list of issues.
    const isOfSchema = key === '_zod' && !Array.isArray(descriptor.value.def)
    if (isOfSchema) built.push(new Error('a schema is built').stack)
    return defineProperty(target, key, descriptor)
  }
  onTestFinished(() => {
    Object.defineProperty = defineProperty
  })
  z.object({ name: z.string() })
  expect(built.splice(0)).toHaveLength(2)
  return built
}

test('no schema is built for a request, a frame or a job', async () => {
  const built = watchSchemas()
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  let served = 0
  for (const [id, op] of operations) {
    const fixture = await fixtureOf(id, op)
    const plain = plainRequest(id, op)
    for (const args of [plain.args, {}]) {
      for (const via of ['rest', 'trpc'] as const) {
        const request = { ...plain, args, via }
        if (await withstands(world(), { id, op, request, fixture })) served += 1
      }
    }
  }
  expect(served).toBeGreaterThan(operations.length)
  const own = [topics.channel(world().appId, channelId), topics.user(world().appId, 'ana')]
  const target = { url: world().url, wsToken: ana.minted.wsToken, topics: own }
  const some = { seed: 1, numRuns: 50 }
  for (const frames of fc.sample(framesFor(own), some)) await withstandsFrames(target, frames)
  for (const frames of fc.sample(trpcFramesFor(own), some))
    await withstandsTrpcFrames(target, frames)
  expect(built).toEqual([])
})
