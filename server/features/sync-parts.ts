import { type Channel, type ChannelChanges, limits } from '@parley/contract'
import type { Tx } from '../db/client.ts'
import { messagesOf, readMessagePage } from './messages/page.ts'
import { isLive } from './messages/view.ts'
import { pinFields } from './pins.ts'

/** The parts of an answer by channel: as many as fit after the bytes before them. */
export type Fit<Part> = (bytesBefore: number) => { byChannel: Map<string, Part>; bytes: number }
export const NOTHING: Fit<object> = (bytes) => ({ byChannel: new Map(), bytes })

/** The content of a room that a client shows, as far as it was asked for and fits. */
export type RoomParts = Pick<ChannelChanges, 'page' | 'roots' | 'threads' | 'pins' | 'members'>

type ThreadsQuery = {
  viewer: string
  /** Messages of other channels have no threads here. */
  channels: Channel[]
  messageIds: string[]
}

/**
 * The newest replies to messages, with these first: a client takes one that is missing for deleted.
 * Where only some of the replies have room, there are more.
 */
export async function readThreads(
  db: Tx,
  { viewer, channels, messageIds }: ThreadsQuery,
): Promise<Fit<Pick<RoomParts, 'threads'>>> {
  if (channels.length === 0 || messageIds.length === 0) return NOTHING
  const channelIds = channels.map(({ id }) => id)
  // Of a thread that is read twice, each reply would be returned twice.
  const ids = [...new Set(messageIds)]
  // In a form that no index has, so that the messages are found by their ids.
  const rows = db`
    select shown.*, given.ordinal as thread_ordinal
    from unnest(${ids}::uuid[]) with ordinality as given (id, ordinal)
    cross join lateral (
      select *
      from messages
      where id = given.id
        and array_position(${channelIds}::uuid[], channel_id) is not null
        and num_nulls(parent_id) = 1
      limit 1
    ) root
    cross join lateral (
      select msg.*
      from messages msg
      where msg.id = root.id
        and ${isLive(db)}
      union all
      (
        select msg.*
        from messages msg
        where msg.parent_id = root.id
          and ${isLive(db)}
        order by msg.seq desc
        limit ${limits.sync.pageMessages + 1}
      )
    ) shown`
  const order = db`msg.thread_ordinal, msg.parent_id nulls first, msg.seq desc`
  const fit = await readMessagePage(db, { viewer, rows, order })
  return (bytesBefore) => {
    const { shown, isCut, bytes } = fit(bytesBefore)
    if (bytes > limits.answerBytes) return NOTHING(bytesBefore)
    const byChannel = new Map<string, { threads: NonNullable<RoomParts['threads']> }>()
    const messages = messagesOf(shown)
    for (const messageId of new Set(messages.map(({ id, parentId }) => parentId ?? id))) {
      const own = messages.filter(({ id, parentId }) => id === messageId || parentId === messageId)
      const parent = own.find(({ id }) => id === messageId)
      const replies = own.filter(({ id }) => id !== messageId)
      const channelId = own[0]?.channelId ?? ''
      const isLast = own.at(-1) === messages.at(-1)
      const hasMore = (isCut && isLast) || replies.length > limits.sync.pageMessages
      const page = replies.slice(0, limits.sync.pageMessages).reverse()
      // Without any of its replies it would seem to have none.
      if (hasMore && page.length === 0) continue
      const thread = { ...(parent && { parent }), messages: page, hasMore }
      const threads = { ...byChannel.get(channelId)?.threads, [messageId]: thread }
      byChannel.set(channelId, { threads })
    }
    return { byChannel, bytes }
  }
}

type Pins = NonNullable<RoomParts['pins']>
type PinsQuery = { viewer: string; channels: Channel[] }

/** All pins of channels, of as many channels as there is room for. */
export async function readPins(
  db: Tx,
  { viewer, channels }: PinsQuery,
): Promise<Fit<Pick<RoomParts, 'pins'>>> {
  if (channels.length === 0) return NOTHING
  const ids = channels.map(({ id }) => id)
  const rows = db`
    select msg.*, p.pinned_by, p.pinned_at, given.ordinal as channel_ordinal
    from unnest(${ids}::uuid[]) with ordinality as given (id, ordinal)
    cross join lateral (
      select *
      from pins
      where channel_id = given.id
      order by pinned_at desc
      limit ${limits.pins}
    ) p
    join messages msg on msg.id = p.message_id`
  const order = db`msg.channel_ordinal, msg.pinned_at desc, msg.seq desc`
  const fit = await readMessagePage(db, { viewer, rows, order, also: pinFields(db) })
  return (bytesBefore) => {
    const { shown, isCut, bytes } = fit(bytesBefore)
    const pins = shown.map(({ json }): Pins[number] => JSON.parse(json))
    const last = pins.at(-1)?.channelId
    // The channel whose pins are cut has none here, nor have those after it.
    const whole = isCut || bytes > limits.answerBytes ? ids.slice(0, ids.indexOf(last ?? '')) : ids
    const byChannel = whole.map((id): [string, Pick<RoomParts, 'pins'>] => [
      id,
      { pins: pins.filter(({ channelId }) => channelId === id) },
    ])
    return { byChannel: new Map(byChannel), bytes }
  }
}
