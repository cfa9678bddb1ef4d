import { tagOfEachServer } from '@parley/server/realtime/broker/redis-shards'
import { expect, test } from 'vitest'

/** A cluster in which each slot has a server of its own. */
const slots = Array.from({ length: 16_384 }, (_, slot) => [`server ${slot}`])

test('channels with braces belong to the server of the text between them', () => {
  const tags = (...channels: string[]) => tagOfEachServer({ slots }, channels)
  // These values are from the specification of Redis Cluster.
  expect(tags('{user1000}.following', 'user1000', '{user1000}.followers')).toEqual(['user1000'])
  expect(tags('foo{{bar}}zap', '{bar')).toEqual(['{bar'])
  expect(tags('foo{bar}{zap}', 'bar')).toEqual(['bar'])
  // Also if no channel without braces shares its server.
  expect(tags('foo{bar}{zap}')).toEqual(['bar'])
  expect(tags('a', 'b')).toEqual(['a', 'b'])
  // Nothing between braces is hashed like these.
  expect(tags('foo{}{bar}', 'foo}bar')).toEqual([])
})
