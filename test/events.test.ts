import type { ChannelEvent, Message, UserEvent } from '@parley/contract'
import { expect, test } from 'vitest'
import { channelEventsOf, upTo, userEventsOf } from './support/events.ts'
import { afterAnyHistory, inCrowds, stage } from './support/history.ts'
import { refusals } from './support/refusal.ts'
import { type User, useWorld } from './support/world.ts'

const world = useWorld()

type Heard = Awaited<ReturnType<typeof channelEventsOf>>[number]
type State = {
  messages: Map<string, Message>
  roles: Map<string, string>
  memberCount: number
  name: string
}

/** What somebody knows who has heard every event of a channel. */
function hear(state: State, { type, offset, payload }: Heard) {
  const change = (id: string, changes: Partial<Message>) => {
    const known = state.messages.get(id)
    if (known) state.messages.set(id, { ...known, ...changes, rev: offset })
  }
  if (type === 'message.new' || type === 'message.updated') {
    const { message } = payload as ChannelEvent<'message.new'>
    expect(message.rev).toBe(offset)
    state.messages.set(message.id, message)
  }
  if (type === 'message.deleted')
    state.messages.delete((payload as ChannelEvent<'message.deleted'>).messageId)
  if (type === 'message.new' || type === 'message.deleted') {
    const { parent } = payload as ChannelEvent<'message.new'>
    if (parent) change(parent.id, { replyCount: parent.replyCount })
  }
  if (type === 'reaction.added' || type === 'reaction.removed') {
    const { messageId, reactions } = payload as ChannelEvent<'reaction.added'>
    change(messageId, { reactions })
  }
  if (type === 'channel.updated')
    state.name = (payload as ChannelEvent<'channel.updated'>).channel.name
  if (type.startsWith('channel.member_')) {
    const { userId, role, memberCount } = payload as ChannelEvent<'channel.member_joined'>
    if (type === 'channel.member_left') state.roles.delete(userId)
    else state.roles.set(userId, role)
    state.memberCount = memberCount
  }
}

/** The same, asked for. */
async function fetchState(user: User, channelId: string): Promise<State> {
  const { name, memberCount } = await user.channels.get({ channelId })
  const { members } = await user.members.list({ channelId })
  const { messages } = await user.messages.list({ channelId, limit: 200 })
  const asBroadcast = messages.map((message) => ({
    ...message,
    reactions: message.reactions.map((reaction) => ({ ...reaction, own: false })),
  }))
  return {
    name,
    memberCount,
    roles: new Map(members.map(({ userId, role }) => [userId, role])),
    messages: new Map(asBroadcast.map((message) => [message.id, message])),
  }
}

test('after any history, who heard the events of a channel knows what who asks is told', async () => {
  await afterAnyHistory({ steps: 100, runs: 4 }, async (steps) => {
    // biome-ignore format: one line
    const { cast: [ana], channelIds, live } = await stage(world())
    await inCrowds(steps, 8, live)
    for (const channelId of channelIds) {
      const events = await channelEventsOf(world(), channelId)
      const { rev } = await ana.channels.get({ channelId })
      expect(events.map(({ offset }) => offset)).toEqual(upTo(rev))

      const heard: State = {
        messages: new Map(),
        roles: new Map(),
        memberCount: 0,
        name: channelId === channelIds[0] ? 'Left' : 'Right',
      }
      for (const event of events) hear(heard, event)
      expect(heard).toEqual(await fetchState(ana, channelId))

      const rows = await world().db<
        { id: string; seq: number; deletedAt: string | null }[]
      >`select id, seq, deleted_at from messages where channel_id = ${channelId} order by seq`
      expect(rows.map(({ seq }) => seq)).toEqual(upTo(rows.length))
      for (const { id } of rows.filter(({ deletedAt }) => deletedAt)) {
        const kept = await world().db<
          { type: string }[]
        >`select envelope::jsonb->>'type' as type from events where message_id = ${id}`
        expect(new Set(kept.map(({ type }) => type))).toEqual(new Set(['message.deleted']))
      }
    }
  })
})

test('after any history, who heard the events of his own topic knows his channels and settings', async () => {
  await afterAnyHistory({ steps: 100, runs: 3 }, async (steps) => {
    const { cast, live } = await stage(world())
    await inCrowds(steps, 8, live)
    for (const user of cast) {
      const events = await userEventsOf(world(), user.id)
      expect(events.map(({ offset }) => offset)).toEqual(upTo(events.length))
      const heard = new Map<string, boolean>()
      for (const { type, payload } of events) {
        const { channelId, starred, channel } = payload as Partial<
          UserEvent<'channel.settings_changed'> & UserEvent<'channel.added'>
        >
        if (type === 'channel.added' && channel) heard.set(channel.id, channel.starred)
        if (type === 'channel.settings_changed' && channelId) heard.set(channelId, starred ?? false)
        if (type === 'channel.removed' && channelId) heard.delete(channelId)
      }
      const { channels } = await user.channels.list({ limit: 100 })
      expect(heard).toEqual(new Map(channels.map(({ id, starred }) => [id, starred])))
    }
  })
})

test('the text of a deleted message is in no event, not even of those who were added while it was the last', async () => {
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
  expect(await world().db`select topic from events where envelope like '%unspeakable%'`).toEqual([])
})

test('what changes nothing is told nobody', async () => {
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
