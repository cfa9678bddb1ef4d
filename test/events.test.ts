import { randomUUID } from 'node:crypto'
import { type Envelope, topics } from '@parley/contract'
import { runInTransaction, type Transaction } from '@parley/server/core/context'
import { expect, test } from 'vitest'
import { channelEventsOf, upTo, userEventsOf } from './support/events.ts'
import { afterAnyHistory, createEverydayFixture, runConcurrently } from './support/histories.ts'
import type { ReceivedEvent } from './support/realtime.ts'
import { refusals } from './support/refusal.ts'
import {
  applyToChannel,
  applyToList,
  emptyList,
  fetchChannel,
  newChannel,
} from './support/replica.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

type StoredEvent = Awaited<ReturnType<typeof channelEventsOf | typeof userEventsOf>>[number]

/** Stored events as a client would receive them. */
const received = (events: StoredEvent[]): ReceivedEvent[] =>
  events.map(({ offset, type, payload }) => ({
    offset,
    envelope: { type, payload } as Envelope, // checked against the contract when it was read
  }))

test('state rebuilt from events equals fetched state, after any history', async () => {
  await afterAnyHistory({ length: 100, runs: 4 }, async (history) => {
    const { users, channels, run } = await createEverydayFixture(world())
    const [ana] = users
    await runConcurrently(history, 8, run)
    for (const channel of channels) {
      const channelId = channel.id
      const events = await channelEventsOf(world(), channelId)
      const { rev } = await ana.channels.get({ channelId })
      expect(events.map(({ offset }) => offset)).toEqual(upTo(rev))
      for (const { offset, envelope } of received(events))
        if (envelope.type === 'message.new' || envelope.type === 'message.updated')
          expect(envelope.payload.message.rev).toBe(offset)

      const rebuilt = received(events).reduce((before, event) => {
        const state = applyToChannel(before, event)
        expect(state.memberCount).toBe(Object.keys(state.members).length)
        return state
      }, newChannel(channel))
      expect(rebuilt).toEqual(await fetchChannel(ana, channelId))
      await expectOnlyTombstones(channelId)
    }
  })
})

/** Messages are numbered without a gap, and of a deleted one only its deletion is stored. */
async function expectOnlyTombstones(channelId: string) {
  type Row = { id: string; seq: number; deletedAt: string | null }
  const rows = await world().db<Row[]>`
    select id, seq, deleted_at
    from messages
    where channel_id = ${channelId}
    order by seq`
  expect(rows.map(({ seq }) => seq)).toEqual(upTo(rows.length))
  for (const { id } of rows.filter(({ deletedAt }) => deletedAt)) {
    const stored = await world().db<{ type: string }[]>`
      select envelope::jsonb->>'type' as type
      from events
      where message_id = ${id}`
    expect(new Set(stored.map(({ type }) => type))).toEqual(new Set(['message.deleted']))
  }
}

test('settings rebuilt from events equal fetched settings, after any history', async () => {
  await afterAnyHistory({ length: 100, runs: 3 }, async (history) => {
    const { users, run } = await createEverydayFixture(world())
    await runConcurrently(history, 8, run)
    for (const user of users) {
      const events = await userEventsOf(world(), user.id)
      expect(events.map(({ offset }) => offset)).toEqual(upTo(events.length))
      const rebuilt = received(events).reduce(applyToList, emptyList)
      const { channels } = await user.channels.list({ limit: 100 })
      expect(
        new Map(Object.entries(rebuilt.channels).map(([id, { starred }]) => [id, starred])),
      ).toEqual(new Map(channels.map(({ id, starred }) => [id, starred])))
    }
  })
})

test('no event of any topic has the text of a deleted message', async () => {
  const [ana] = await world().users('ana', 'ben', 'cem')
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: ['ben'],
  })
  const root = await ana.messages.send({ channelId, text: 'root' })
  const { id: messageId } = await ana.messages.send({
    channelId,
    text: 'unspeakable',
    parentId: root.id,
  })
  await ana.members.add({ channelId, userIds: ['cem'] })
  await ana.pins.pin({ channelId, messageId })
  await ana.messages.delete({ channelId, messageId })
  expect(
    await world().db`
      select topic
      from events
      where envelope like '%unspeakable%'`,
  ).toEqual([])
})

test('events of a transaction for one user are stored in the order of delivery', async () => {
  const { appId } = world()
  const [ana, ben] = ['order-ana', 'order-ben']
  const published: { topic: string; offset: number; envelope: string }[] = []
  const publisher = { publish: (events: typeof published) => void published.push(...events) }
  const work = async ({ emitToUser }: Pick<Transaction, 'emitToUser'>) => {
    emitToUser(ana, 'workspace.removed', { workspaceId: randomUUID() })
    for (const userId of [ben, ana, ana])
      emitToUser(userId, 'channel.removed', { channelId: randomUUID() })
  }
  for (const _ of ['first', 'second'])
    await world().pool.use((db) =>
      runInTransaction(db, { appId, publisher: { ...publisher, broadcast: () => {} } }, work),
    )
  for (const userId of [ana, ben]) {
    const stored = await userEventsOf(world(), userId)
    const own = published.filter(({ topic }) => topic === topics.user(appId, userId))
    expect(own.map(({ offset, envelope }) => ({ offset, envelope }))).toEqual(
      stored.map(({ offset, envelope }) => ({ offset, envelope })),
    )
    expect(own.map(({ offset }) => offset)).toEqual(upTo(userId === ana ? 6 : 2))
  }
})

test('no-op changes emit no events', async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({
    type: 'public',
    name: 'Quiet',
    memberIds: ['ben'],
  })
  const { id: messageId } = await ana.messages.send({ channelId, text: 'same', clientId: 'once' })
  const ref = { channelId, messageId }
  await ben.reactions.add({ ...ref, emoji: '👍' })
  await ben.pins.pin(ref)
  await ben.channels.updateSettings({ channelId, muted: true })
  const count = async () => (await world().db`select count(*)::int from events`)[0]
  const [before, { rev }] = [await count(), await ana.channels.get({ channelId })]

  await ana.messages.send({ channelId, text: 'again', clientId: 'once' })
  await ana.messages.edit({ ...ref, text: 'same' })
  await ben.reactions.add({ ...ref, emoji: '👍' })
  await ben.reactions.remove({ ...ref, emoji: '🎉' })
  await ana.pins.pin(ref)
  await ben.members.join({ channelId })
  await ana.members.add({ channelId, userIds: ['ben'], role: 'owner' })
  await ana.members.update({ channelId, userId: 'ben', role: 'member' })
  await ana.channels.update({ channelId, name: 'Quiet' })
  await ben.channels.updateSettings({ channelId, muted: true })
  await ben.reads.mark({ channelId })
  await refusals([
    ben.messages.delete(ref),
    ben.messages.edit({ ...ref, text: 'x' }),
    ben.channels.delete({ channelId }),
  ])

  expect(await count()).toEqual(before)
  expect((await ana.channels.get({ channelId })).rev).toBe(rev)
})
