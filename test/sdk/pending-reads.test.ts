import type { Channel } from '@parley/client'
import { PendingReads } from '@parley/client/internal/channels/pending-reads'
import { expect, test } from 'vitest'

const channel = (fields: Partial<Channel>) => ({ id: 'c', unreadCount: 3, ...fields }) as Channel

test('a channel that is being read follows its record, without its unread count', () => {
  const reads = new PendingReads()
  const known = channel({ name: 'Talk' })
  expect(reads.show(known)).toBe(known)
  reads.start('c')
  const shown = reads.show(known)
  expect(shown).toEqual({ ...known, unreadCount: 0 })
  expect(reads.show(known)).toBe(shown)
  reads.start('c')
  expect(reads.show(known)).toBe(shown)
  expect(reads.show(channel({ name: 'New' }))).toMatchObject({ name: 'New', unreadCount: 0 })
  expect(reads.show(channel({ id: 'other' })).unreadCount).toBe(3)
  reads.end('c')
  expect(reads.show(known).unreadCount).toBe(0)
  reads.end('c')
  expect(reads.show(known)).toBe(known)
})

test('of overlapping reads each answer leaves the record as it is shown for the others', () => {
  const reads = new PendingReads()
  const known = channel({ name: 'Talk' })
  for (const _ of ['first', 'second', 'third']) reads.start('c')
  const shown = reads.show(known)
  for (const _ of ['first', 'second']) {
    reads.end('c')
    expect(reads.show(known)).toBe(shown)
  }
  reads.end('c')
  expect(reads.show(known)).toBe(known)
  reads.end('c')
  reads.start('c')
  expect(reads.show(known).unreadCount).toBe(0)
  reads.end('c')
  expect(reads.show(known)).toBe(known)
})
