import type { FoundEvent, FoundMessage, History, ReceivedEvent, SentMessage } from './history.ts'
import { ephemeral } from './received.ts'

const CHANNEL = 'talk'
const TOPIC = 'chat:app:talk'
const MEMBERS = ['ana', 'ben']

/**
 * A made-up run in which every promise was kept. ana sent two messages, the second a reply to the
 * first with a reaction of ben, and ben sent one and edited it. Each test breaks one thing in it.
 */
export function goodHistory(): History {
  const messages = [sent('ana', 1), sent('ana', 2), { ...sent('ben', 3), text: 'edited' }]
  const listed = messages.map(foundOf)
  const [root, reply] = listed
  const [, sentReply] = messages
  if (root && reply && sentReply) {
    sentReply.parentId = 'ana-1'
    reply.parentId = root.id
    reply.reactions = ['👍 ben']
    root.replyCount = 1
  }
  const events = messages.map(eventOf)
  const counts: Record<string, number> = { ana: 1, ben: 2 }
  return {
    calls: [
      {
        node: 0,
        name: 'POST /messages',
        startedAt: 100,
        endedAt: 150,
        status: 201,
        hasRetryAfter: false,
        isActed: false,
      },
    ],
    faults: [],
    returns: [{ node: 0, milliseconds: 300 }],
    deaths: [],
    closures: 0,
    returnWithinMs: 10_000,
    convergenceMs: [800],
    convergeWithinMs: 15_000,
    messages,
    streams: [],
    imports: [],
    reactions: [{ messageId: 'id-2', userId: 'ben', emoji: '👍', isThere: true }],
    reads: [{ channelId: CHANNEL, userId: 'ana', lastReadSeq: 2 }],
    freezes: [{ channelId: CHANNEL, from: 10, to: 20 }],
    refusals: [],
    subscriptions: MEMBERS.flatMap((userId) => [
      { userId, topic: TOPIC, start: 0, received: events.map(receivedEvent), losses: [] },
      {
        userId,
        topic: `user:app:${userId}`,
        start: 0,
        received: [
          ephemeral('channel.unread_changed', { channelId: CHANNEL, count: counts[userId] }),
          ephemeral('channel.total_unread_changed', { count: counts[userId] }),
          ephemeral('presence.online', { userId: 'gus' }),
        ],
        losses: [],
      },
    ]),
    hasWebhook: true,
    hooked: events.map(({ offset, type }) => ({
      ...{ id: `delivery-${offset}`, type, channelId: CHANNEL, userId: undefined, rev: offset },
    })),
    pushes: ['id-1:ben:new-message', 'id-2:ben:new-message', 'id-3:ana:new-message'],
    members: MEMBERS,
    visitors: [
      { userId: 'gus', isConnected: true },
      { userId: 'hal', isConnected: false },
    ],
    found: {
      channels: [{ id: CHANNEL, topic: TOPIC, lastSeq: 3, rev: 3 }],
      events,
      listings: [0, 1].map((node) => ({
        node,
        channelId: CHANNEL,
        messages: structuredClone(listed),
      })),
      recounts: MEMBERS.map((userId) => ({
        userId,
        channelId: CHANNEL,
        count: counts[userId] ?? 0,
      })),
      unread: MEMBERS.map((userId) => ({
        node: 0,
        userId,
        counts: { [CHANNEL]: counts[userId] ?? 0 },
        total: counts[userId] ?? 0,
      })),
      positions: [{ userId: 'ana', channelId: CHANNEL, lastReadSeq: 2 }],
      presence: [
        { node: 0, userId: 'gus', isOnline: true },
        { node: 0, userId: 'hal', isOnline: false },
      ],
      frozen: [0, 1].map((node) => ({ node, channelId: CHANNEL, isFrozen: false })),
      imported: [],
      wrongRows: { channels: 0 },
      redis: [0, 1].map((node) => ({ node, state: 'ok' })),
    },
  }
}

const createdAt = (seq: number) => `2026-01-01T00:00:00.00${seq}Z`

const sent = (userId: string, seq: number): SentMessage => ({
  clientId: `${userId}-${seq}`,
  channelId: CHANNEL,
  userId,
  acknowledged: [{ id: `id-${seq}`, seq, createdAt: createdAt(seq) }],
  parentId: undefined,
  text: `message ${seq}`,
  isDeleted: false,
  isPinned: false,
  isSilent: false,
  isPushed: true,
  isRefused: false,
})

const eventOf = ({ userId }: SentMessage, index: number): FoundEvent => ({
  topic: TOPIC,
  offset: index + 1,
  type: 'message.new',
  messageId: `id-${index + 1}`,
  authorId: userId,
  isFrozen: undefined,
})

const foundOf = ({ clientId, userId, text }: SentMessage, index: number): FoundMessage => ({
  id: `id-${index + 1}`,
  clientId,
  userId,
  parentId: null,
  seq: index + 1,
  rev: index + 1,
  text,
  createdAt: createdAt(index + 1),
  isDeleted: false,
  isPinned: false,
  isSilent: false,
  isStreaming: false,
  isInterrupted: false,
  replyCount: 0,
  reactions: [],
})

const receivedEvent = ({ offset, messageId }: FoundEvent): ReceivedEvent => ({
  offset,
  type: 'message.new',
  messageId: messageId ?? undefined,
  channelId: CHANNEL,
  userId: undefined,
  count: undefined,
})
