import { type Channel, type ChannelChanges, contract, limits, type Message } from '@parley/contract'
import { type Implements, implementWithoutTransaction } from '../core/operation.ts'
import type { Tx } from '../db/client.ts'
import { pipelined } from '../db/pipelined.ts'
import { constant } from '../db/sql.ts'
import { isReadableBy } from './channels/access.ts'
import { selectChannels } from './channels/view.ts'
import { selectFirstSeq } from './messages/first-seq.ts'
import { messagesOf, readMessagePage } from './messages/page.ts'
import { selectTotalUnread } from './reads.ts'
import { readRooms } from './sync-rooms.ts'
import { listUsersById } from './users/list.ts'

/**
 * Changes since the revs that the caller knows, in three statements whatever the number of
 * channels, and in one more for each part of what is shown, in two round trips. The channels are
 * read first, which also checks the right to read them: what changes between the statements is
 * returned twice rather than never. The right is checked again by the last statement: a user who
 * was removed meanwhile gets nothing of what was read after that.
 */
const pull = implementWithoutTransaction(
  contract.sync.pull,
  async ({ db, caller }, { channels: knownRevs, total, userIds, ...rooms }) => {
    const { appId, userId } = caller
    const ids = Object.keys(knownRevs)
    const page = db`c.id = any(${ids}::uuid[]) and ${isReadableBy(db, userId)}`
    const [{ channels, isCut: isFull, settingsVersion, bytes }, totalUnread] = await Promise.all([
      selectChannels(db, { appId, viewer: userId, page }),
      total ? selectTotalUnread(db, caller) : undefined,
    ])
    const pulls = channels.map((channel): Pull => ({ channel, since: knownRevs[channel.id] ?? 0 }))
    const [fitChanged, fitRooms, users, readable] = await pipelined([
      readChanged(db, { viewer: userId, pulls: pulls.filter(isRecoverable) }),
      readRooms(db, { viewer: userId, channels, rooms }),
      userIds && readUsers(db, { appId, ids: userIds }),
      readReadable(db, { viewer: userId, ids: channels.map(({ id }) => id) }),
    ])
    const { messages, isCut, bytes: bytesBefore } = fitChanged(bytes)
    const shown = fitRooms(bytesBefore)
    const last = isCut ? messages.at(-1) : undefined
    const cutIndex = pulls.findIndex(({ channel }) => channel.id === last?.channelId)
    const changes = new Map(
      pulls.map((pull, index) => {
        const { id } = pull.channel
        const cut = index >= cutIndex ? last : undefined
        if (!readable.has(id)) return [id, { removed: true as const }]
        return [id, { ...changesOf(pull, { messages, cut }), ...shown.byChannel.get(id) }]
      }),
    )
    // A channel without room may be removed as well: the next answer says so.
    const changesOfOther = (id: string): ChannelChanges =>
      isFull ? { more: true, rev: knownRevs[id] ?? 0, messages: [] } : { removed: true }
    return {
      channels: Object.fromEntries(ids.map((id) => [id, changes.get(id) ?? changesOfOther(id)])),
      more: isCut || isFull,
      settingsVersion,
      ...(users && shown.bytes + bytesOf(users) <= limits.answerBytes && { users }),
      ...totalUnread,
    }
  },
)

export const sync = { pull } satisfies Implements<'sync'>

/** A channel, and the rev of it that the caller knows. */
type Pull = { channel: Channel; since: number }

/** A rev of the future comes from before a backup was restored. */
const isRecoverable = ({ channel, since }: Pull) =>
  since <= channel.rev && channel.rev - since <= limits.sync.changes

type ReadableQuery = { viewer: string; ids: string[] }

/** Which of these channels, all of the viewer's app, the viewer may read. */
async function readReadable(db: Tx, { viewer, ids }: ReadableQuery) {
  if (ids.length === 0) return new Set<string>()
  const rows = await db<{ id: string }[]>`
    select c.id
    from channels c
    left join members m on m.channel_id = c.id and m.user_id = ${viewer}
    where c.id = any(${ids}::uuid[])
      and ${isReadableBy(db, viewer)}`
  return new Set(rows.map(({ id }) => id))
}

/** All of these users; undefined if an answer has no room for them. */
async function readUsers(db: Tx, { appId, ids }: { appId: string; ids: string[] }) {
  if (ids.length === 0) return []
  const { users, nextCursor } = await listUsersById(db, { appId, ids })
  return nextCursor === null ? users : undefined
}
const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

type ChangedMessages = { messages: Message[]; isCut: boolean }
type FitChanged = (bytesBefore: number) => ChangedMessages & { bytes: number }

type ChangedMessagesQuery = { viewer: string; pulls: Pull[] }

/** The messages changed since, by channel and rev, up to the size of an answer. */
async function readChanged(db: Tx, { viewer, pulls }: ChangedMessagesQuery): Promise<FitChanged> {
  const changed = pulls.filter(({ channel, since }) => since < channel.rev)
  if (changed.length === 0) return (bytes) => ({ messages: [], isCut: false, bytes })
  const channelIds = changed.map(({ channel }) => channel.id)
  const revs = changed.map(({ since }) => since)
  const rows = db`
    select msg.*, known.ordinal
    from unnest(${channelIds}::uuid[], ${revs}::int[])
      with ordinality as known (channel_id, rev, ordinal)
    cross join lateral (
      select changed.*
      from messages changed
      where changed.channel_id = known.channel_id
        and changed.rev > known.rev
        and changed.rev is distinct from changed.created_rev
      union all
      select sent.*
      from (${firstSentAfter(db)}) first
      cross join lateral (
        select *
        from messages
        where channel_id = known.channel_id
          and seq >= first.seq
        order by seq
        limit ${2 * limits.sync.changes}
      ) sent
      where sent.rev > known.rev
        and sent.rev is not distinct from sent.created_rev
    ) msg
    order by known.ordinal, msg.rev, msg.seq
    limit ${limits.sync.messages + 1}`
  const order = db`msg.ordinal, msg.rev`
  const fit = await readMessagePage(db, { viewer, rows, order })
  return (bytesBefore) => {
    const page = fit(bytesBefore)
    const { messages, isCut } = cutToCount(messagesOf(page.shown))
    return { messages, isCut: isCut || page.isCut, bytes: page.bytes }
  }
}

/**
 * The seq of the first message that was sent after the rev `known`, or an earlier one. Revs of
 * messages grow with their seqs, so a search finds it among the newest messages: as many as the
 * channel has had changes since. Where the first rev of one is unknown its last rev is used.
 */
const firstSentAfter = constant((db) =>
  selectFirstSeq(db, {
    channelId: db`known.channel_id`,
    bounds: db`
      select greatest(c.last_seq - (c.rev - known.rev), 0) as low, c.last_seq + 1 as high
      from channels c
      where c.id = known.channel_id`,
    isBefore: db`coalesce(msg.created_rev, msg.rev) <= known.rev`,
  }),
)

/**
 * At most as many messages as a response has. A reply and its root may share a rev: they are
 * returned together, because the next pull asks for what is after a rev.
 */
function cutToCount(messages: Message[]): ChangedMessages {
  const next = messages[limits.sync.messages]
  if (!next) return { messages, isCut: false }
  const isComplete = ({ channelId, rev }: Message) =>
    channelId !== next.channelId || rev !== next.rev
  return { messages: messages.slice(0, limits.sync.messages).filter(isComplete), isCut: true }
}

type PulledMessages = { messages: Message[]; cut: Message | undefined }

/** The changes of one channel; `cut` is the last message if the response ends in it or before. */
function changesOf({ channel, since }: Pull, { messages, cut }: PulledMessages): ChannelChanges {
  const record = { channel, ...(channel.role === null && { removed: true as const }) }
  if (!isRecoverable({ channel, since })) {
    return { resync: true, rev: channel.rev, ...record, messages: [] }
  }
  const own = messages.filter(({ channelId }) => channelId === channel.id)
  if (!cut || since === channel.rev) return { rev: channel.rev, ...record, messages: own }
  const rev = cut.channelId === channel.id ? cut.rev : since
  return { more: true, rev, ...record, messages: own }
}
