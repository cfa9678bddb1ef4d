import { type Api, createApi } from '@parley/client/api'
import type { Envelope, Message } from '@parley/contract'
import { envelopeIn } from '@parley/server/core/stored-envelope'
import { wrongCounters } from '../imports/counters.ts'
import { MEMBERS, probeOf } from './app.ts'
import type { Found, FoundEvent, FoundMessage, Listing } from './history.ts'
import type { Node, Rig } from './rig.ts'

type ChannelRow = { id: string; last_seq: number; rev: number }
type EventRow = { topic: string; offset: number; message_id: string | null; envelope: string }
type MemberRow = { user_id: string; channel_id: string; last_read_seq: number; unread: number }

/** Reads the state at the end, from the rows and from each node. */
export async function find(rig: Rig): Promise<Found> {
  const { database, history, nodes, probeChannels } = rig
  const channels = [
    ...rig.channels.map((channel) => ({ ...channel, reader: MEMBERS[0] ?? '' })),
    ...probeChannels.map((channel, index) => ({ ...channel, reader: probeOf(index) })),
  ]
  const channelRows = await database.ask<ChannelRow>(`
    select id, last_seq, rev
    from channels`)
  const events = await database.ask<EventRow>(`
    select topic, "offset", message_id, envelope
    from events
    order by topic, "offset"`)
  const members = await database.ask<MemberRow>(`
    select m.user_id, m.channel_id, m.last_read_seq, count(msg.id)::int as unread
    from members m
    left join messages msg
      on msg.channel_id = m.channel_id
      and msg.seq > m.unread_after_seq
      and msg.user_id <> m.user_id
      and msg.deleted_at is null
      and msg.silent is not true
    group by m.user_id, m.channel_id, m.last_read_seq`)
  const listings: Listing[] = []
  const unread: Found['unread'] = []
  const presence: Found['presence'] = []
  const frozen: Found['frozen'] = []
  const redis: Found['redis'] = []
  for (const node of nodes) {
    if (rig.redis) redis.push({ node: node.index, state: await redisStateOf(node) })
    for (const { id: channelId, reader } of channels) {
      const api = apiOf(rig, node, reader)
      listings.push({ node: node.index, channelId, messages: await listed(api, channelId) })
      const { frozen: isFrozen } = await api.channels.get({ channelId })
      frozen.push({ node: node.index, channelId, isFrozen })
    }
    for (const userId of history.members) unread.push(await unreadOf(rig, node, userId))
    for (const { userId } of history.visitors)
      presence.push({ node: node.index, userId, isOnline: await isOnline(rig, node, userId) })
  }
  return {
    channels: channels.map((channel) => {
      const row = channelRows.find(({ id }) => id === channel.id)
      return { ...channel, lastSeq: row?.last_seq ?? -1, rev: row?.rev ?? -1 }
    }),
    events: events.map(eventOf),
    listings,
    recounts: members.map(({ user_id, channel_id, unread }) => ({
      userId: user_id,
      channelId: channel_id,
      count: unread,
    })),
    unread,
    positions: members.map(({ user_id, channel_id, last_read_seq }) => ({
      userId: user_id,
      channelId: channel_id,
      lastReadSeq: last_read_seq,
    })),
    presence,
    frozen,
    imported: await findImported(rig),
    wrongRows: await database.use((db) => countWrong({ db, appId: rig.appId })),
    redis,
  }
}

function eventOf({ topic, offset, message_id, envelope }: EventRow): FoundEvent {
  const row = { topic, offset, messageId: message_id, envelope }
  const { type, payload }: Envelope = JSON.parse(envelopeIn(row))
  return {
    topic,
    offset,
    type,
    messageId: message_id,
    authorId: 'message' in payload ? payload.message.userId : undefined,
    isFrozen: type === 'channel.updated' ? payload.channel.frozen : undefined,
  }
}

async function findImported({ history, database }: Rig) {
  const ids = history.imports.flatMap(({ channels }) => channels.map(({ channelId }) => channelId))
  const rows = await database.ask<{ channel_id: string; texts: string[] }>(
    `select channel_id, array_agg(text order by seq) as texts
    from messages
    where channel_id = any(string_to_array($1, ',')::uuid[])
    group by channel_id`,
    [ids.join()],
  )
  return rows.map(({ channel_id, texts }) => ({ channelId: channel_id, texts }))
}

async function countWrong(app: Parameters<typeof wrongCounters>[0]) {
  const wrong = Object.entries(await wrongCounters(app))
  return Object.fromEntries(wrong.map(([kind, rows]) => [kind, rows.length]))
}

/** Whether a node says that the user is online. */
async function isOnline(rig: Rig, node: Node, userId: string) {
  const { online } = await apiOf(rig, node, 'ana').users.get({ userId })
  return online
}

const apiOf = ({ tokenOf }: Rig, { url }: Node, userId: string) =>
  createApi({ url, token: tokenOf(userId) })

const redisStateOf = async ({ url }: Node) =>
  (await createApi({ url }).service.health()).checks.redis

async function unreadOf(rig: Rig, node: Node, userId: string) {
  const api = apiOf(rig, node, userId)
  const { channels } = await api.channels.list({})
  const { count } = await api.reads.unreadCount()
  const counts = Object.fromEntries(channels.map(({ id, unreadCount }) => [id, unreadCount]))
  return { node: node.index, userId, counts, total: count }
}

/** All messages of a channel, tombstones included. */
async function listed(api: Api, channelId: string): Promise<FoundMessage[]> {
  const found: FoundMessage[] = []
  for (;;) {
    const since_seq = found.at(-1)?.seq ?? 0
    const page = await api.messages.list({ channelId, since_seq, limit: 200 })
    found.push(...page.messages.map(foundOf))
    if (!page.hasMore) return found
  }
}

const foundOf = (message: Message): FoundMessage => ({
  id: message.id,
  clientId: message.clientId,
  userId: message.userId,
  parentId: message.parentId,
  seq: message.seq,
  rev: message.rev,
  text: message.text,
  createdAt: message.createdAt,
  isDeleted: message.deletedAt !== null,
  isPinned: message.pinned,
  isSilent: message.silent === true,
  isStreaming: message.streaming === true,
  isInterrupted: message.interrupted === true,
  replyCount: message.replyCount,
  reactions: message.reactions.flatMap(({ type, users }) => users.map(({ id }) => `${type} ${id}`)),
})
