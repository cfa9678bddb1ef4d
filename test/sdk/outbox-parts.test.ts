import { memoryStorage, type OutboxOperation } from '@parley/client'
import { createStepHandler } from '@parley/client/internal/outbox/effects'
import { createEntry } from '@parley/client/internal/outbox/entry'
import { Journal } from '@parley/client/internal/outbox/journal'
import { mergeStored, showMerged } from '@parley/client/internal/outbox/merge'
import type { OutboxStep } from '@parley/client/internal/outbox/steps'
import { applyTabChange } from '@parley/client/internal/outbox/tab-changes'
import { Tabs } from '@parley/client/internal/outbox/tabs'
import { createEmitter } from '@parley/client/internal/realtime/events'
import { createDeferred } from '@parley/client/internal/shared/timing'
import { expect, onTestFinished, test } from 'vitest'

const read: OutboxOperation = { type: 'read', clientId: 'r', channelId: 'c', createdAt: '2026' }

test('a read that is shown twice is taken back once, by its answer', () => {
  const log: string[] = []
  const handle = createStepHandler({
    rooms: new Map(),
    records: {
      startReading: (channelId) => log.push(`reading ${channelId}`) > 0,
      takeReadAnswer: (channelId, { unreadCount }) => log.push(`${channelId} has ${unreadCount}`),
      endReading: (channelId) => log.push(`read ${channelId}`),
    },
    emitter: createEmitter(() => {}),
  })
  for (const kind of ['queued', 'started', 'queued'] as const) handle({ kind, op: read })
  const result = { unreadCount: 2 }
  for (const _ of [1, 2]) handle({ kind: 'done', op: read, result })
  expect(log).toEqual(['reading c', 'c has 2', 'read c', 'c has 2'])
})

test('an operation that was stored counts as tried, and one that is gone as done', async () => {
  const edit: OutboxOperation = { ...read, clientId: 'e', type: 'edit', messageId: 'm', text: '' }
  const known = new Map([['r', createEntry(read)]])
  const merged = mergeStored(known, { operations: [edit], wasStored: new Set(['r']) })
  expect(merged.queued.get('e')?.wasTried).toBe(true)
  const steps: OutboxStep[] = []
  const gone = expect(known.get('r')?.completion.promise).rejects.toMatchObject({ code: 'ABORTED' })
  showMerged(merged, { onStep: (step) => steps.push(step), onChanged: () => {} })
  expect(steps.map(({ kind, op }) => [kind, op.clientId])).toEqual([
    ['queued', 'e'],
    ['done', 'r'],
  ])
  await gone
})

const edit = (clientId: string): OutboxOperation => ({
  ...{ type: 'edit', clientId, channelId: 'c', createdAt: clientId, messageId: 'm', text: '' },
})
/** The outbox of a tab with these operations. */
function outboxOf(isSender: boolean, ...operations: OutboxOperation[]) {
  const queued = new Map(operations.map((each) => [each.clientId, createEntry(each)]))
  const ignore = () => {}
  return { queued, isSender, onStep: ignore, onSent: ignore, onChanged: ignore }
}

test('operations of the tab that sends count as tried, those of others do not', () => {
  const [sender, other] = [outboxOf(true), outboxOf(false)]
  for (const outbox of [sender, other])
    applyTabChange({ kind: 'put', operation: edit('1') }, outbox)
  expect([sender, other].map(({ queued }) => queued.get('1')?.wasTried ?? false)).toEqual([
    ...[false, true],
  ])
})

test('an edit that another tab has merged into a later one ends with that one', async () => {
  const outbox = outboxOf(false, edit('1'), edit('2'))
  const first = outbox.queued.get('1')?.completion.promise
  applyTabChange({ kind: 'replaced', clientId: '1', by: '2' }, outbox)
  applyTabChange({ kind: 'removed', clientId: '2', result: 'done' }, outbox)
  expect(await first).toBe('done')
})

/** The journal of an outbox with two operations, whose storage answers when the test lets it. */
async function slowJournal() {
  const storage = memoryStorage()
  const owner = 'http://chat app:me'
  for (const clientId of ['1', '2']) await storage.put(owner, edit(clientId))
  const read = createDeferred<void>()
  const load = async (of: string) => {
    const rows = await storage.load(of)
    if (of === owner) await read.promise
    return rows
  }
  const tabs = { post: () => {} } as never // all that it uses
  const journal = new Journal({ storage: { ...storage, load }, tabs, onError: () => {} })
  journal.owner = owner
  const loading = journal.load()
  await new Promise(setImmediate)
  return { journal, loading, answer: read.resolve }
}

test('an operation discarded while the outbox is read does not come back', async () => {
  const { journal, loading, answer } = await slowJournal()
  journal.delete('1')
  answer()
  expect((await loading)?.operations.map(({ clientId }) => clientId)).toEqual(['2'])
})

test('an operation discarded while the outbox is read twice does not come back', async () => {
  const { journal, loading, answer } = await slowJournal()
  const again = journal.load()
  await new Promise(setImmediate)
  journal.delete('1')
  answer()
  for (const stored of [await loading, await again])
    expect(stored?.operations.map(({ clientId }) => clientId)).toEqual(['2'])
})

test('an operation put again while the outbox is read twice stays', async () => {
  const { journal, loading, answer } = await slowJournal()
  journal.delete('1')
  journal.put(edit('1'))
  const again = journal.load()
  answer()
  await loading
  expect((await again)?.operations.map(({ clientId }) => clientId)).toEqual(['1', '2'])
})

test('an outbox read for one user is not taken for that of the next one', async () => {
  const { journal, loading, answer } = await slowJournal()
  journal.owner = 'http://chat app:you'
  answer()
  expect(await loading).toBeUndefined()
})

test('a tab that joins the same tabs again receives what they sent before', async () => {
  const received: unknown[] = []
  const ignore = () => {}
  const options = { onChanged: ignore, onEnded: ignore, onElected: ignore }
  const tabs = new Tabs({ ...options, onChanged: (change) => void received.push(change) })
  const other = new Tabs(options)
  for (const each of [tabs, other]) {
    onTestFinished(() => each.leave())
    each.join('same')
  }
  other.post({ kind: 'removed', clientId: 'k' })
  tabs.join('same')
  await expect.poll(() => received).toEqual([{ kind: 'removed', clientId: 'k' }])
})

test('a tab that has joined other tabs receives nothing more from the earlier ones', async () => {
  const received: unknown[] = []
  const ignore = () => {}
  const onChanged = (change: unknown) => void received.push(change)
  const tabs = new Tabs({ onChanged, onEnded: ignore, onElected: ignore })
  onTestFinished(() => tabs.leave())
  for (const name of ['before', 'now']) tabs.join(name)
  for (const name of ['before', 'now']) {
    const other = new Tabs({ onChanged: ignore, onEnded: ignore, onElected: ignore })
    onTestFinished(() => other.leave())
    other.join(name)
    other.post({ kind: 'removed', clientId: name })
  }
  await expect.poll(() => received.at(-1)).toEqual({ kind: 'removed', clientId: 'now' })
  expect(received).toHaveLength(1)
})
