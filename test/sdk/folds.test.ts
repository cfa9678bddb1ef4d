import type { OutboxOperation } from '@parley/client'
import { ChatError } from '@parley/client'
import { openStream } from '@parley/client/internal/backend/stream'
import { UnreadCounts } from '@parley/client/internal/channels/unread'
import { VersionedParts } from '@parley/client/internal/channels/versions'
import { createEntry, isOperation, type OutboxEntry } from '@parley/client/internal/outbox/entry'
import { prepare } from '@parley/client/internal/outbox/fold'
import { Resources } from '@parley/client/internal/room/resources'
import { expect, onTestFinished, test, vi } from 'vitest'
import { quiet, scriptedChat } from '../support/scripted/index.ts'

/** Operations that wait together are folded, and values may arrive in any order. */

const operation = (clientId: string, fields: object) =>
  ({ clientId, channelId: 'c', createdAt: clientId, messageId: 'm', ...fields }) as OutboxOperation

/** Prepares the first of these entries; returns whether it is sent, and all updates. */
function fold(...given: OutboxEntry[]) {
  const entries = new Map(given.map((entry) => [entry.op.clientId, entry]))
  const update = vi.fn()
  const others = { replace: vi.fn(), complete: vi.fn(), refuse: vi.fn(), withdraw: vi.fn() }
  const [first] = given
  const isSent = first && prepare(first, { queued: entries, update, ...others })
  return { isSent, updated: update.mock.calls.map(([, changed]) => changed) }
}

test('an operation that may have reached the server is sent again unchanged', () => {
  const reaction = operation('1', { type: 'react', emoji: '👍' })
  const removal = createEntry(operation('2', { type: 'unreact', emoji: '👍' }))
  expect(fold(createEntry(reaction), removal).isSent).toBe(false)
  expect(fold(createEntry(reaction, { wasTried: true }), removal)).toEqual({
    ...{ isSent: true, updated: [] },
  })
})

test('two edits that wait are sent as one, of the message as it was seen first', () => {
  const first = createEntry(operation('1', { type: 'edit', text: 'a', ifEditedAt: null }))
  const last = createEntry(operation('2', { type: 'edit', text: 'b', ifEditedAt: '2026' }))
  expect(fold(first, last)).toMatchObject({
    ...{ isSent: false, updated: [{ text: 'b', ifEditedAt: null }] },
  })
})

test('a waiting read of everything outweighs one up to a message, whichever is first', () => {
  const everything = { type: 'read', messageId: undefined }
  const upTo = { type: 'read', messageId: 'far', seq: 3 }
  for (const [one, other] of [
    [everything, upTo],
    [upTo, everything],
  ] as const)
    expect(
      fold(createEntry(operation('1', one)), createEntry(operation('2', other))).updated,
    ).toMatchObject([{ messageId: undefined, seq: undefined }])
})

test('the further of two waiting reads counts', () => {
  const near = { type: 'read', messageId: 'near', seq: 2 }
  const far = { type: 'read', messageId: 'far', seq: 3 }
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const)
    expect(
      fold(createEntry(operation('1', one)), createEntry(operation('2', other))).updated,
    ).toMatchObject([{ messageId: 'far', seq: 3 }])
})

test('reads of two channels that wait are both sent', () => {
  const [one, other] = [{ type: 'read' }, { type: 'read', channelId: 'd' }]
  const sent = { isSent: true, updated: [] }
  expect(fold(createEntry(operation('1', one)), createEntry(operation('2', other)))).toEqual(sent)
})

test('a stored row without the fields of its operation is ignored', () => {
  const send = operation('1', { text: 'Hello', attachments: [] })
  const { attachments: _, ...damaged } = send as typeof send & { attachments: [] }
  expect([send, damaged, operation('1', { type: 'react' })].map(isOperation)).toEqual([
    ...[true, false, false],
  ])
})

test('a read position moves back only once its channel is dropped', () => {
  const record = scriptedChat().channel('c').record()
  const parts = new VersionedParts()
  for (const seq of [5, 3]) parts.takeRead('c', seq)
  expect(parts.takeRecord(record, 1).readSeq).toBe(5)
  parts.delete('c')
  expect(parts.takeRecord(record, 1).readSeq).toBe(0)
})

test('a total that is older than a read is never shown as negative', () => {
  const unread = new UnreadCounts({ onError: () => {} })
  const channel = { ...scriptedChat().channel('c').record(), unreadCount: 3 }
  unread.pendingReads.begin('c')
  unread.redraw([channel])
  expect(unread.store.getSnapshot()).toEqual({ total: 0, byChannel: { c: 0 } })
})

test('after a success the pauses of a resource that fails are short again', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  let calls = 0
  const state = { isFailing: true }
  const resources = new Resources({
    loaderOf: () => async () => {
      calls += 1
      if (state.isFailing) throw new ChatError('away', { code: 'UNAVAILABLE', status: 503 })
      return (channel) => channel
    },
    watched: () => ['messages'],
    canLoad: () => true,
    loadedStatus: () => 'ready',
    onLoaded: () => {},
    onChanged: () => {},
  })
  resources.loadIfIdle('messages')
  await vi.advanceTimersByTimeAsync(120_000)
  state.isFailing = false
  await vi.advanceTimersByTimeAsync(120_000)
  expect(resources.get('messages')).toEqual({ status: 'ready' })
  state.isFailing = true
  calls = 0
  await resources.load('messages').catch(() => {})
  await vi.advanceTimersByTimeAsync(3_000)
  expect(calls).toBeGreaterThan(1)
})

test('a stream that is ended twice is finished once', async () => {
  const message = { id: 'm', channelId: 'c', text: '' }
  const finish = vi.fn(async () => message)
  const append = async ({ text }: { text: string }) => ({ length: text.length })
  const api = { messages: { send: async () => message }, streams: { append, finish } }
  const out = openStream(api as never, 'c') // it makes no other calls
  expect(await Promise.all([out.end(), out.end()])).toEqual([message, message])
  expect(finish).toHaveBeenCalledTimes(1)
})

test('a stream of a message that has grown before is continued at its end', async () => {
  const message = { id: 'm', channelId: 'c', text: 'so far' }
  const append = vi.fn(async ({ at, text }: { at: number; text: string }) => ({
    length: at + text.length,
  }))
  const api = { messages: { send: async () => message }, streams: { append } }
  const out = openStream(api as never, 'c', { clientId: 'again' }) // it makes no other calls
  await out.write(', so')
  await out.write(' good')
  expect(append.mock.calls).toMatchObject([[{ text: ', so', at: 6 }], [{ text: ' good', at: 10 }]])
})

test('a stream writes an emoji in two parts whole, and half of one as unreadable', async () => {
  const message = { id: 'm', channelId: 'c', text: '' }
  const append = vi.fn(async ({ at, text }: { at: number; text: string }) => ({
    length: at + text.length,
  }))
  const api = { messages: { send: async () => message }, streams: { append } }
  const out = openStream(api as never, 'c') // it makes no other calls
  const [high = '', low = ''] = '👍'.split('')
  await out.write(`a${high}`)
  await out.write(`${low}b${high}c`)
  expect(append.mock.calls.map(([{ text }]) => text)).toEqual(['a', '👍b\ufffdc'])
})

test('edits of an unsent message after one of a newer build wait, as that one does', () => {
  const send = createEntry(operation('1', { text: '0', attachments: [] }))
  const newer = { type: 'edit', messageId: '1', text: '1', ifEditedAt: null, mood: 'glad' }
  const later = { type: 'edit', messageId: '1', text: '2', ifEditedAt: null }
  const edits = [operation('2', newer), operation('3', later)].map((op) => createEntry(op))
  expect(fold(send, ...edits)).toEqual({ isSent: true, updated: [] })
})

test('a stream is finished after the text that is on its way', async () => {
  const message = { id: 'm', channelId: 'c', text: '' }
  const steps: string[] = []
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const append = async ({ text }: { text: string }) => {
    steps.push(`append ${text}`)
    await released
    return { length: text.length }
  }
  const finish = async () => {
    steps.push('finish')
    return message
  }
  const api = { messages: { send: async () => message }, streams: { append, finish } }
  const out = openStream(api as never, 'c') // it makes no other calls
  void out.write('all').then(() => steps.push('written'))
  const ended = out.end()
  await quiet()
  expect(steps).toEqual(['append all'])
  release()
  await ended
  expect(steps).toEqual(['append all', 'written', 'finish'])
})
