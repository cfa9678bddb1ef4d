import { indexedDbStorage, memoryStorage, type OutboxOperation } from '@parley/client'
import type { Outgoing } from '@parley/client/internal/backing-store/storage'
import { createEntry } from '@parley/client/internal/outbox/entry'
import { applyTabChange } from '@parley/client/internal/outbox/tab-changes'
import type { TabChange } from '@parley/client/internal/outbox/tabs'
import { IDBFactory } from 'fake-indexeddb'
import { expect, onTestFinished, test } from 'vitest'
import { ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { useGlobals } from '../support/use-globals.ts'
import { createWebLocks } from '../support/web-locks.ts'

/** A tab is notified of changes by another one that shares its outbox. */

useGlobals({
  indexedDB: new IDBFactory(),
  navigator: { locks: createWebLocks() },
})

const draft = (clientId: string, text = 'text'): Outgoing => ({
  ...{ type: 'send', clientId, channelId: 'c', createdAt: '2026', text, attachments: [] },
})
const failure = { code: 'FORBIDDEN', message: 'no', status: 403 }

/** The outbox of a tab that does not send, with what it did. */
function outboxOf(...operations: OutboxOperation[]) {
  const queued = new Map(operations.map((each) => [each.clientId, createEntry(each)]))
  const steps: string[] = []
  const outbox = {
    queued,
    isSender: false,
    onStep: ({ kind, op }: { kind: string; op: OutboxOperation }) =>
      steps.push(`${kind} ${op.clientId}`),
    onSent: () => {},
    onChanged: () => {},
  }
  return { queued, steps, receive: (change: TabChange) => applyTabChange(change, outbox) }
}

/** Two tabs that share an outbox, of which the first sends. The second receives no event. */
async function openTabs(name: string) {
  const storage = indexedDbStorage(`tab-changes-${name}`)
  const open = () => scriptedChat({ storage, userId: 'me' })
  const tabs = [open(), open()] as const
  for (const { channel, chat } of tabs) {
    channel('c').send('theirs')
    await chat.connect()
    chat.channel('c').watch()
    await until(chat.channel('c').messages, ready)
  }
  return tabs
}

test('edits of one tab that another sends as one have all been carried out', async () => {
  const [one, two] = await openTabs('folded')
  const answer = one.hold(/^POST .*\/messages$/)
  void one.chat.channel('c').send({ text: 'first' })
  await answer.asked
  const room = two.chat.channel('c')
  const edits = ['1', '2'].map((text) => room.edit('c-0001', { text }))
  // The first tab has been notified of both.
  const shown = () => one.chat.channel('c').messages.getSnapshot().items[0]?.text
  await expect.poll(shown).toBe('2')
  answer.release()
  expect(await Promise.all(edits)).toMatchObject([{ text: '2' }, { text: '2' }])
  expect(one.count(/^PATCH/)).toBe(1)
})

test('a message that another tab has sent is shown as sent before its event comes', async () => {
  const [, two] = await openTabs('sent')
  const room = two.chat.channel('c')
  await room.send({ text: 'new' }).sent
  await quiet()
  expect(two.count(/^POST .*\/messages/)).toBe(0)
  const { items } = room.messages.getSnapshot()
  expect(items.at(-1)).toMatchObject({ text: 'new', status: 'sent' })
})

test('a failed message that another tab sends again is sent by the tab that sends', async () => {
  const SEND = /^POST .*\/messages$/
  const [one, two] = await openTabs('again')
  one.refuseRequests(SEND, { status: 403, code: 'FORBIDDEN' })
  const { clientId, sent } = one.chat.channel('c').send({ text: 'new' })
  await expect(sent).rejects.toMatchObject({ code: 'FORBIDDEN' })
  const room = two.chat.channel('c')
  await expect.poll(() => room.messages.getSnapshot().items.at(-1)?.status).toBe('failed')
  one.refuseRequests()
  room.retry(clientId)
  await expect.poll(() => one.count(SEND)).toBe(2)
})

test('an operation on its way stays unchanged, whatever another tab sends', () => {
  const { queued, receive } = outboxOf(draft('1', 'on its way'))
  Object.assign(queued.get('1') ?? {}, { isSending: true })
  receive({ kind: 'put', operation: draft('1', 'other') })
  expect(queued.get('1')?.op).toMatchObject({ text: 'on its way' })
})

test('a failed message that another tab sends again waits after what was written since', () => {
  const { queued, steps, receive } = outboxOf({ ...draft('1'), failure }, draft('2'))
  receive({ kind: 'put', operation: draft('1') })
  expect([...queued.keys()]).toEqual(['2', '1'])
  expect([queued.get('1')?.error, steps]).toEqual([undefined, ['queued 1']])
})

test('a message that another tab was refused fails here, too', async () => {
  const { queued, steps, receive } = outboxOf(draft('1'))
  const refused = expect(queued.get('1')?.completion.promise).rejects.toMatchObject(failure)
  receive({ kind: 'put', operation: { ...draft('1'), failure } })
  await refused
  expect([queued.get('1')?.error?.code, steps]).toEqual(['FORBIDDEN', []])
})

test('a discarded message is not refused, and an unknown operation is not taken', () => {
  const { queued, steps, receive } = outboxOf(draft('1'))
  receive({ kind: 'removed', clientId: '1', error: failure })
  const unknown = { ...draft('2'), type: 'poll' } as unknown // as a newer build may send it
  receive({ kind: 'put', operation: unknown as OutboxOperation })
  expect([steps, queued.size]).toEqual([[], 0])
})

test('a browser keeps what is unsent for the next page, unless an option forbids it', async () => {
  const [first, next] = [scriptedChat({ userId: 'me' }), scriptedChat({ userId: 'me' })]
  for (const { channel, refuseRequests } of [first, next]) {
    channel('c')
    refuseRequests(/^POST .*\/messages/, { status: 503, code: 'UNAVAILABLE' })
  }
  await first.chat.connect()
  first.chat.channel('c').send({ text: 'unsent' })
  await quiet()
  first.chat.disconnect()
  await next.chat.connect()
  const { messages } = next.chat.channel('c')
  await until(messages, ({ items }) => items[0]?.text === 'unsent')
})

test("a tab that pauses while its outbox loads gets others' changes once it goes on", async () => {
  const inner = indexedDbStorage('tab-changes-held')
  let [onAsked, release] = [() => {}, () => {}]
  const asked = new Promise<void>((resolve) => {
    onAsked = resolve
  })
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const load = async (owner: string) => {
    onAsked()
    await held
    return inner.load(owner)
  }
  const { chat, channel } = scriptedChat({ storage: { ...inner, load }, userId: 'me' })
  channel('c')
  const received: string[] = []
  const others = new BroadcastChannel(`${inner.sharedAs} http://chat app:me`)
  onTestFinished(() => others.close())
  others.onmessage = ({ data }) => received.push((data as TabChange).kind)
  chat.connect().catch(() => {})
  await asked
  chat.disconnect()
  await chat.connect()
  release()
  for (const text of ['while it loads', 'then']) await chat.channel('c').send({ text }).sent
  await expect.poll(() => received).toContain('put')
})

test('a message that was refused before a reload is rejected after it, too', async () => {
  const storage = memoryStorage()
  await storage.put('http://chat app:me', { ...draft('refused'), failure })
  const { chat, channel } = scriptedChat({ storage, userId: 'me' })
  channel('c')
  await chat.connect()
  const room = chat.channel('c')
  await until(room.messages, ({ items }) => items.length === 1)
  const { message, sent } = room.send({ text: 'text', clientId: 'refused' })
  expect(message.status).toBe('failed')
  await expect(Promise.race([sent, quiet()])).rejects.toMatchObject({ code: 'FORBIDDEN' })
})
