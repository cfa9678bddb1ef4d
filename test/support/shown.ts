import type { Channel, ChatClient, ChatMessage } from '@parley/client'
import { ready, until } from './chat.ts'
import type { Scene } from './client-actions.ts'

/** The sent messages, without the fields that only the client adds. */
const sentMessages = (messages: readonly ChatMessage[]) =>
  messages
    .filter(({ status }) => status === 'sent')
    .map(({ status: _, error: __, ...message }) => message)

/** A record without the version, which only orders two counts. */
export const withoutVersion = ({ unreadVersion: _, ...record }: Channel) => record

/** Everything that a client shows of the two channels, once it is loaded. */
export async function shown(chat: ChatClient, { channelId }: Scene, roots: string[]) {
  const room = chat.channel(channelId)
  const threads = roots.map((id) => room.thread(id))
  const stop = room.watch()
  const items = await until(
    room.messages,
    (messages) => ready(messages) && messages.items.every(({ status }) => status !== 'pending'),
  )
  const [members, pins] = await Promise.all([until(room.members, ready), until(room.pins, ready)])
  const { byUser: reads } = await until(
    room.reads,
    ({ byUser }) => Object.keys(byUser).length === members.items.length,
  )
  const replies = await Promise.all(
    threads.map((thread) =>
      until(thread, (shown) => shown.status === 'ready' || shown.status === 'failed'),
    ),
  )
  const list = await until(chat.channels(), ready)
  stop()
  return {
    // Events do not contain the exact times that the server sorts by.
    list: list.items.map(withoutVersion).sort((a, b) => a.id.localeCompare(b.id)),
    total: [list.totalUnread, chat.unread.getSnapshot().total],
    unread: chat.unread.getSnapshot().byChannel,
    messages: sentMessages(items.items),
    members: members.items
      // Events do not say when a member joined.
      .map(({ userId, user, role, custom }) => ({ userId, user, role, custom }))
      .sort((a, b) => a.userId.localeCompare(b.userId)),
    pins: pins.items.map(({ id, pinnedBy, text, user, reactions }) => ({
      id,
      pinnedBy,
      text,
      user,
      reactions,
    })),
    reads: Object.fromEntries(
      Object.entries(reads).map(([userId, { lastReadSeq }]) => [userId, lastReadSeq]),
    ),
    // The replies stay when their root is deleted.
    threads: replies.map(({ status, items }) =>
      status === 'failed' ? 'gone' : sentMessages(items),
    ),
  }
}
