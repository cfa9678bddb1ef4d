import type { Message } from '@parley/contract'
import { createBatchCounters } from '@parley/server/features/messages/batch-counters'
import { send } from '@parley/server/features/messages/send'
import type { SendFacts } from '@parley/server/features/messages/send-facts'
import { expect, test } from 'vitest'
import { upTo } from '../support/events.ts'
import { whileLocked } from '../support/locks.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld({ poolSize: 4 })

const newChannels = async (count: number) => {
  const [ana] = await world().users('ana', 'ben')
  const names = Array.from({ length: count }, (_, index) => `Talk ${index}`)
  const channels = await Promise.all(
    names.map((name) => ana.channels.create({ type: 'group', name, memberIds: ['ben'] })),
  )
  return { ana, ids: channels.map(({ id }) => id) }
}

test('a locked channel holds up its own messages only, and they keep their order', async () => {
  const { ana, ids } = await newChannels(9)
  const [locked = '', ...others] = ids
  const sent = await whileLocked(world(), locked, async (waitFor) => {
    const first = ana.messages.send({ channelId: locked, text: 'first' })
    await waitFor(1)
    const later = ['b', 'c', 'd'].map((text) => ana.messages.send({ channelId: locked, text }))
    await Promise.all(others.map((channelId) => ana.messages.send({ channelId, text: 'hi' })))
    return { all: [first, ...later] }
  })
  const [first, ...later] = await Promise.all(sent.all)
  expect(first?.seq).toBe(1)
  expect(later.map(({ seq }) => seq).toSorted()).toEqual([2, 3, 4])
})

test('channels share commits within an app, and never across apps', () => {
  const groupsOf = (appId: string) =>
    upTo(99).map((n) => {
      const channelId = `01890000-0000-7000-8000-0000000000${String(n).padStart(2, '0')}`
      const caller = { appId, userId: 'ana', isAdmin: false }
      return send.keysOf({ caller, input: { channelId, text: '', attachments: [] } }).group
    })
  expect(new Set(groupsOf('a')).size).toBe(1)
  expect(new Set([...groupsOf('a'), ...groupsOf('b')]).size).toBe(2)
})

test('the size of a message in a batch includes text, attachments and metadata', () => {
  const caller = { appId: 'a', userId: 'ana', isAdmin: false }
  const bytesOf = (content: object) =>
    send.bytesOf({ caller, input: { channelId: 'c', text: '', attachments: [], ...content } })
  const long = 'x'.repeat(5_000)
  const attachments = [{ type: 'file', url: `https://example.com/${long}` }]
  for (const content of [{ text: long }, { attachments }, { custom: { long } }])
    expect(bytesOf(content) - bytesOf({})).toBeGreaterThanOrEqual(5_000)
})

test('messages that are stored together have one time, whoever sent them first', async () => {
  const { ana, ids } = await newChannels(1)
  const [channelId = ''] = ids
  const ben = await world().user('ben')
  const sent = await whileLocked(world(), channelId, async (waitFor) => {
    const first = ben.messages.send({ channelId, text: 'first' })
    await waitFor(1)
    const rest = [ben, ana, ben, ana].map((user) => user.messages.send({ channelId, text: 'x' }))
    return { all: [first, ...rest] }
  })
  const messages = (await Promise.all(sent.all)).toSorted((a, b) => a.seq - b.seq)
  const times = messages.map(({ createdAt }) => createdAt)
  expect(times).toEqual(times.toSorted())
})

test('a message is never older than the one before it, though the clock is set back', async () => {
  const { ana, ids } = await newChannels(1)
  const [channelId = ''] = ids
  const future = new Date(Date.now() + 3_600_000).toISOString()
  await world().db`
    update channels
    set last_activity_at = ${future}
    where id = ${channelId}`
  const first = await ana.messages.send({ channelId, text: 'first' })
  const second = await ana.messages.send({ channelId, text: 'second' })
  expect(first.createdAt).toBe(future)
  expect(second.createdAt).toBe(future)
})

test('the messages of a batch are numbered by author in each channel apart', () => {
  const { nextOfAuthor } = createBatchCounters()
  const next = (channelId: string, userId: string, lastAuthorSeq: number) =>
    nextOfAuthor({ lastAuthorSeq } as SendFacts, { channelId, userId } as Message)
  expect([next('one', 'ana', 5), next('two', 'ana', 0), next('one', 'ben', 2)]).toEqual([6, 1, 3])
  expect([next('one', 'ana', 5), next('two', 'ana', 0), next('one', 'ben', 2)]).toEqual([7, 2, 4])
})
