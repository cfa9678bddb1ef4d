import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'

/** Where the server accepts WebSocket connections. */
export const endpointPath = '/connection/websocket'

/**
 * Where the server speaks the same protocol with clients whose network blocks WebSockets. They
 * receive over one of the first two, and send their commands to the third.
 */
export const streamPaths = {
  http_stream: '/connection/http_stream',
  sse: '/connection/sse',
  emulation: '/emulation',
} as const

/** The names of the topics that events are published to: one topic a channel, one a user. */
export const topics = {
  channel: (appId: string, channelId: string) => `chat:${appId}:${channelId}`,
  user: (appId: string, userId: string) => `user:${appId}:${userId}`,
}

/** The subject of a topic. */
export type TopicRef =
  | { kind: 'chat'; appId: string; channelId: string }
  | { kind: 'user'; appId: string; userId: string }

/** Parses a topic; null for a string that is not one. User ids may contain colons. */
export function parseTopic(topic: string): TopicRef | null {
  const [, kind, appId = '', id = ''] = TOPIC.exec(topic) ?? []
  if (kind === 'chat' && CANONICAL_UUID.test(id)) return { kind, appId, channelId: id }
  if (kind === 'user' && field.isUserId(id)) return { kind, appId, userId: id }
  return null
}
// Compiled once: a server parses the topic of each event and of each subscription.
const TOPIC = new RegExp(`^(chat|user):(${field.canonicalUuid}):(.+)$`, 's')
const CANONICAL_UUID = new RegExp(`^${field.canonicalUuid}$`)

/**
 * Input of the tRPC subscription `events.topic`. With `since`, the events after that offset come
 * first. tRPC itself sends `lastEventId` when it reconnects.
 */
export const TopicInput = z.object({
  topic: z.string(),
  since: z.int().min(0).max(limits.largestInteger).optional(),
  lastEventId: z
    .string()
    .regex(/^\d{1,10}$/)
    .refine((id) => Number(id) <= limits.largestInteger)
    .optional(),
})
export type TopicInput = z.infer<typeof TopicInput>
