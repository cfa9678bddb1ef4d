import { type Channel, type ChannelChanges, limits, type Message } from '@parley/contract'
import type { Tx } from '../db/client.ts'
import { customBytes, profileBytes } from './members/view.ts'
import { messagesOf, selectMessagePage } from './messages/page.ts'
import { isLive } from './messages/view.ts'
import { userSummary } from './users/view.ts'

type Room = Pick<ChannelChanges, 'page' | 'members'>
type RoomsQuery = {
  viewer: string
  /** Those that the answer has, in its order. */
  channels: Channel[]
  /** The ids of those whose newest messages, and whose members are wanted. */
  rooms: { pages: string[]; members: string[] }
  /** How many bytes the answer has without them. */
  bytesBefore: number
}

/** What a client shows of channels that are open, as far as the answer has room for it. */
export async function readRooms(
  db: Tx,
  { viewer, channels, rooms, bytesBefore }: RoomsQuery,
): Promise<Map<string, Room>> {
  const wanted = (ids: string[]) => channels.filter(({ id }) => ids.includes(id))
  const paged = wanted(rooms.pages)
  const { pages, bytes } = await readPages(db, { viewer, channels: paged, bytesBefore })
  const members = await readMembers(db, { channels: wanted(rooms.members), bytesBefore: bytes })
  const entries = channels.map(({ id }): [string, Room] => [
    id,
    { ...pages.get(id), ...members.get(id) },
  ])
  return new Map(entries)
}

type PagesQuery = { viewer: string; channels: Channel[]; bytesBefore: number }

/** The newest messages of channels. Where only some of them have room, there are more. */
async function readPages(db: Tx, { viewer, channels, bytesBefore }: PagesQuery) {
  const empty = { pages: new Map<string, Pick<Room, 'page'>>(), bytes: bytesBefore }
  if (channels.length === 0) return empty
  const ids = channels.map(({ id }) => id)
  const rows = db`
    select newest.*, given.place as channel_place
    from unnest(${ids}::uuid[]) with ordinality as given (id, place)
    cross join lateral (
      select msg.*
      from messages msg
      where msg.channel_id = given.id
        and ${isLive(db)}
      order by msg.seq desc
      limit ${limits.sync.pageMessages + 1}
    ) newest`
  const { shown, isCut, bytes } = await selectMessagePage(db, {
    viewer,
    rows,
    order: db`msg.channel_place, msg.seq desc`,
    bytesBefore,
  })
  // The first message is read however long it is.
  if (bytes > limits.answerBytes) return empty
  const messages = messagesOf(shown)
  const pages = channels.map(({ id, lastMessage }): [string, Pick<Room, 'page'>] => {
    const own = messages.filter(({ channelId }) => channelId === id)
    const isLast = messages.at(-1)?.channelId === id
    const hasRoom = own.length > 0 || lastMessage === null
    return [id, hasRoom ? { page: pageOf(own, { isCut: isCut && isLast }) } : {}]
  })
  return { pages: new Map(pages), bytes }
}

const pageOf = (newestFirst: Message[], { isCut }: { isCut: boolean }) => ({
  messages: newestFirst.slice(0, limits.sync.pageMessages).reverse(),
  hasMore: isCut || newestFirst.length > limits.sync.pageMessages,
})

type MemberRow = NonNullable<Room['members']>[number] & { channelId: string }

/** All members of channels, of as many channels as there is room for. */
async function readMembers(
  db: Tx,
  { channels, bytesBefore }: { channels: Channel[]; bytesBefore: number },
) {
  const members = new Map<string, Pick<Room, 'members'>>()
  let count = 0
  const ids = channels.flatMap(({ id, memberCount }) => {
    if (count + memberCount > limits.sync.members) return []
    count += memberCount
    return [id]
  })
  if (ids.length === 0) return members
  const rows = await db<MemberRow[]>`
    select
      m.channel_id, m.user_id, m.profile as "user", m.role,
      coalesce(m.custom, '{}') as custom, m.joined_at, m.last_read_seq
    from (
      select
        m.*, given.place, more.profile,
        sum(${profileBytes(db)} + ${customBytes(db)}) over (order by given.place) as bytes
      from unnest(${ids}::uuid[]) with ordinality as given (id, place)
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
    order by m.place, m.joined_at, m.user_id`
  let bytes = bytesBefore
  for (const id of ids) {
    const own = rows.flatMap(({ channelId, ...member }) => (channelId === id ? [member] : []))
    const size = Buffer.byteLength(JSON.stringify(own))
    // More may have joined since the channel was read; none are read where they have no room.
    const isWhole = own.length > 0 && own.length <= limits.sync.members
    if (!isWhole || bytes + size > limits.answerBytes) continue
    bytes += size
    members.set(id, { members: own })
  }
  return members
}
