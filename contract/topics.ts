import { z } from 'zod'
import * as field from './fields.ts'

/** Where the server accepts WebSocket connections. */
export const endpointPath = '/connection/websocket'

/** The names of the topics that events are published to: one topic a channel, one a user. */
export const topics = {
  channel: (appId: string, channelId: string) => `chat:${appId}:${channelId}`,
  user: (appId: string, userId: string) => `user:${appId}:${userId}`,
}

/** What a topic is about. */
export type TopicRef =
  | { kind: 'chat'; appId: string; channelId: string }
  | { kind: 'user'; appId: string; userId: string }

/** What a topic is about; null for a string that is not a topic. User ids may contain colons. */
export function parseTopic(topic: string): TopicRef | null {
  const [, kind, appId = '', id = ''] = /^(chat|user):([^:]+):(.+)$/s.exec(topic) ?? []
  if (!isCanonicalUuid(appId)) return null
  if (kind === 'chat') return isCanonicalUuid(id) ? { kind, appId, channelId: id } : null
  if (kind === 'user' && UserId.safeParse(id).success) return { kind, appId, userId: id }
  return null
}
const Uuid = field.uuid()
const UserId = field.userId()
const isCanonicalUuid = (id: string) => id === id.toLowerCase() && Uuid.safeParse(id).success

/**
 * Input of the tRPC subscription `events.topic`. With `since`, the events after that offset come
 * first. tRPC itself sends `lastEventId` when it reconnects.
 */
export const TopicInput = z.object({
  topic: z.string(),
  since: z.int().min(0).optional(),
  lastEventId: z.string().regex(/^\d+$/).optional(),
})
export type TopicInput = z.infer<typeof TopicInput>
