import type { Announcer } from '@parley/server/realtime/broker/index'
import { FanoutOrder } from '@parley/server/realtime/fanout/order'
import { expect, onTestFinished, test, vi } from 'vitest'
import { appId } from '../hub/fixture.ts'

const subject = 'profile'
const announcer = (id: string, number: number) => ({ id, number })
const fanout = (announcer: Announcer | undefined) => ({
  ...{ appId, subject, announcer },
  event: { type: 'user.updated', payload: {} } as never, // not read
})

test('a change that overtakes its announcement is sent, and no older one after it', () => {
  const order = new FanoutOrder()
  const [old, young] = [announcer('a', 7), announcer('b', 3)]
  order.record(subject, old)
  expect(order.isOutdated(fanout(young))).toBe(false)
  order.sent(fanout(young))
  expect(order.isOutdated(fanout(old))).toBe(true)
  // An announcement that comes late is not newer than those that followed it.
  order.record(subject, announcer('a', 8))
  order.record(subject, young)
  expect(order.isOutdated(fanout(announcer('a', 8)))).toBe(false)
  expect(order.isOutdated(fanout(young))).toBe(true)
})

test('a change that no node has announced is sent', () => {
  const order = new FanoutOrder()
  expect(order.isOutdated(fanout(announcer('a', 1)))).toBe(false)
  expect(order.isOutdated(fanout(undefined))).toBe(false)
  for (const number of [1, 2]) order.record(subject, announcer('a', number))
  // Those of one node arrive in order: each is sent.
  expect(order.isOutdated(fanout(announcer('a', 1)))).toBe(false)
  expect(order.isOutdated(fanout(announcer('b', 1)))).toBe(false)
  expect(order.isOutdated(fanout(undefined))).toBe(true)
})

test('a change that a node failed to send is outdated only by a later one', () => {
  const order = new FanoutOrder()
  const failed = announcer('a', 1)
  expect(order.isFollowed(subject, failed)).toBe(false)
  order.record(subject, failed)
  expect(order.isFollowed(subject, failed)).toBe(false)
  order.record(subject, undefined)
  expect(order.isFollowed(subject, failed)).toBe(true)
  expect(order.isFollowed(subject, announcer('a', 2))).toBe(false)
  expect(order.isFollowed('another', failed)).toBe(false)
})

test('the offsets of a channel count for a minute: those of a restored database are lower', () => {
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  const isLowerOutdatedAfter = (milliseconds: number) => {
    const order = new FanoutOrder()
    now = 1
    order.sent({ ...fanout(undefined), offset: 9 })
    now += milliseconds
    return order.isOutdated({ ...fanout(undefined), offset: 3 })
  }
  expect([59_000, 61_000].map(isLowerOutdatedAfter)).toEqual([true, false])
})
