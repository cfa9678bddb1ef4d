import type { Teller } from '@parley/server/realtime/broker'
import { NewestNews } from '@parley/server/realtime/newest-news'
import { expect, test } from 'vitest'
import { appId } from '../hub/fixture.ts'

const subject = 'profile'
const teller = (id: string, number: number) => ({ id, number })
const news = (teller: Teller | undefined) => ({
  ...{ appId, subject, teller },
  event: { type: 'user.updated', payload: {} } as never, // not read
})

test('news that overtake their announcement are told, and older ones not after them', () => {
  const newest = new NewestNews()
  const [old, young] = [teller('a', 7), teller('b', 3)]
  newest.announced(subject, old)
  expect(newest.isOutdated(news(young))).toBe(false)
  newest.told(news(young))
  expect(newest.isOutdated(news(old))).toBe(true)
  // Late, it is no newer announcement than those that followed.
  newest.announced(subject, teller('a', 8))
  newest.announced(subject, young)
  expect(newest.isOutdated(news(teller('a', 8)))).toBe(false)
  expect(newest.isOutdated(news(young))).toBe(true)
})

test('news that nobody has announced are told', () => {
  const newest = new NewestNews()
  expect(newest.isOutdated(news(teller('a', 1)))).toBe(false)
  expect(newest.isOutdated(news(undefined))).toBe(false)
  newest.announced(subject, teller('a', 1))
  expect(newest.isOutdated(news(teller('b', 1)))).toBe(false)
  expect(newest.isOutdated(news(undefined))).toBe(true)
})

test('a change that a node failed to send is outdated only by a later one', () => {
  const newest = new NewestNews()
  const failed = teller('a', 1)
  expect(newest.isFollowed(subject, failed)).toBe(false)
  newest.announced(subject, failed)
  expect(newest.isFollowed(subject, failed)).toBe(false)
  newest.announced(subject, undefined)
  expect(newest.isFollowed(subject, failed)).toBe(true)
  expect(newest.isFollowed(subject, teller('a', 2))).toBe(false)
  expect(newest.isFollowed('another', failed)).toBe(false)
})
