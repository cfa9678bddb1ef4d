import { type Channel, limits, type Message } from '@parley/contract'
import type { Tx } from '../db/client.ts'
import { pipelined } from '../db/pipelined.ts'
import { customBytes, profileBytes } from './members/view.ts'
import { messagesOf, readMessagePage } from './messages/page.ts'
import { isLive, isLiveRoot } from './messages/view.ts'
import { type Fit, NOTHING, type RoomParts, readPins, readThreads } from './sync-parts.ts'
import { presenceFields, userSummary } from './users/view.ts'

type RoomsQuery = {
  viewer: string
  /** The channels of the answer, in its order. The viewer may read them. */
  channels: Channel[]
  /** The ids of the channels to read each part of, or of the messages to read threads of. */
  rooms: Record<'pages' | 'roots' | 'threads' | 'pins' | 'members', string[]>
}

/**
 * Reads the content of rooms that a client shows: all parts at once. They fill the answer in their
 * order.
 */
export async function readRooms(
  db: Tx,
  { viewer, channels, rooms }: RoomsQuery,
): Promise<Fit<RoomParts>> {
  const wanted = (ids: string[]) => channels.filter(({ id }) => ids.includes(id))
  const fits = await pipelined([
    readPages(db, { viewer, channels: wanted(rooms.pages), part: 'page' }),
    readPages(db, { viewer, channels: wanted(rooms.roots), part: 'roots' }),
    readThreads(db, { viewer, channels, messageIds: rooms.threads }),
    readPins(db, { viewer, channels: wanted(rooms.pins) }),
    readMembers(db, wanted(rooms.members)),
  ])
  return (bytesBefore) => {
    const byChannel = new Map<string, RoomParts>()
    let bytes = bytesBefore
    for (const fit of fits) {
      const fitting = fit(bytes)
      bytes = fitting.bytes
      for (const [id, part] of fitting.byChannel)
        byChannel.set(id, { ...byChannel.get(id), ...part })
    }
    return { byChannel, bytes }
  }
}

type PagesQuery = { viewer: string; channels: Channel[]; part: 'page' | 'roots' }

/** The newest messages of channels. Where only some of them have room, there are more. */
async function readPages(db: Tx, { viewer, channels, part }: PagesQuery): Promise<Fit<RoomParts>> {
  if (channels.length === 0) return NOTHING
  const ids = channels.map(({ id }) => id)
  const isListed = part === 'page' ? isLive(db) : isLiveRoot(db)
  const rows = db`
    select newest.*, given.ordinal as channel_ordinal
    from unnest(${ids}::uuid[]) with ordinality as given (id, ordinal)
    cross join lateral (
      select msg.*
      from messages msg
      where msg.channel_id = given.id
        and ${isListed}
      order by msg.seq desc
      limit ${limits.sync.pageMessages + 1}
    ) newest`
  const order = db`msg.channel_ordinal, msg.seq desc`
  const fit = await readMessagePage(db, { viewer, rows, order })
  return (bytesBefore) => {
    const { shown, isCut, bytes } = fit(bytesBefore)
    // The first message is read however long it is.
    if (bytes > limits.answerBytes) return NOTHING(bytesBefore)
    const messages = messagesOf(shown)
    const pages = channels.flatMap(({ id, lastMessage }): [string, RoomParts][] => {
      const own = messages.filter(({ channelId }) => channelId === id)
      const isLast = messages.at(-1)?.channelId === id
      const hasRoom = own.length > 0 || lastMessage === null
      return hasRoom ? [[id, { [part]: pageOf(own, { isCut: isCut && isLast }) }]] : []
    })
    return { byChannel: new Map(pages), bytes }
  }
}

const pageOf = (newestFirst: Message[], { isCut }: { isCut: boolean }) => ({
  messages: newestFirst.slice(0, limits.sync.pageMessages).reverse(),
  hasMore: isCut || newestFirst.length > limits.sync.pageMessages,
})

type RoomMember = NonNullable<RoomParts['members']>[number] & { channelId: string }

/** All members of channels, of as many channels as there is room for. */
async function readMembers(db: Tx, channels: Channel[]): Promise<Fit<RoomParts>> {
  let count = 0
  const ids = channels.flatMap(({ id, memberCount }) => {
    if (count + memberCount > limits.sync.members) return []
    count += memberCount
    return [id]
  })
  if (ids.length === 0) return NOTHING
  const rows = await db<RoomMember[]>`
    select
      m.channel_id, m.user_id, m.profile as "user", m.role,
      coalesce(m.custom, '{}') as custom, m.joined_at, m.last_read_seq,
      m.last_active_at, m.online, m.presence_version
    from (
      select
        m.*, given.ordinal, more.profile, ${presenceFields(db)},
        sum(${profileBytes(db)} + ${customBytes(db)}) over (order by given.ordinal) as bytes
      from unnest(${ids}::uuid[]) with ordinality as given (id, ordinal)
      cross join lateral (
        select *
        from members
        where channel_id = given.id
        order by joined_at, user_id
        limit ${limits.sync.members + 1}
      ) m
      join users u on u.app_id = m.app_id and u.id = m.user_id
      cross join lateral (
        select ${userSummary(db)} as profile
        offset 0 -- measured and answered, but made once
      ) more
    ) m
    where m.bytes <= ${limits.answerBytes}
    order by m.ordinal, m.joined_at, m.user_id`
  return (bytesBefore) => {
    const byChannel = new Map<string, RoomParts>()
    let bytes = bytesBefore
    for (const id of ids) {
      const own = rows.flatMap(({ channelId, ...member }) => (channelId === id ? [member] : []))
      const size = Buffer.byteLength(JSON.stringify(own))
      // More may have joined since the channel was read; none are read where they have no room.
      const areWithinLimit = own.length > 0 && own.length <= limits.sync.members
      if (!areWithinLimit || bytes + size > limits.answerBytes) continue
      bytes += size
      byChannel.set(id, { members: own })
    }
    return { byChannel, bytes }
  }
}
