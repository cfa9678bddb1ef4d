import {
  type ChannelEventType,
  channelEvents,
  topics,
  type UserEventType,
  userEvents,
} from '@parley/contract'
import { envelopeIn } from '@parley/server/core/stored-envelope'
import type { World } from './world.ts'

type StoredEvent<Type extends string> = {
  offset: number
  envelope: string
  type: Type
  payload: Record<string, unknown>
}

/** The durable events of a channel, in order, each checked against the contract. */
export const channelEventsOf = async (
  { db, appId }: World,
  channelId: string,
): Promise<StoredEvent<ChannelEventType>[]> =>
  (await stored(db, topics.channel(appId, channelId))).map((event) => checked(channelEvents, event))

/** The same of a user. */
export const userEventsOf = async (
  { db, appId }: World,
  userId: string,
): Promise<StoredEvent<UserEventType>[]> =>
  (await stored(db, topics.user(appId, userId))).map((event) => checked(userEvents, event))

type EventRow = Parameters<typeof envelopeIn>[0]
async function stored(db: World['db'], topic: string) {
  const rows = await db<EventRow[]>`
    select topic, "offset", message_id as "messageId", envelope
    from events
    where topic = ${topic}
    order by "offset"`
  return rows.map((row) => ({ offset: row.offset, envelope: envelopeIn(row) }))
}

function checked<Schemas extends typeof channelEvents | typeof userEvents>(
  schemas: Schemas,
  { offset, envelope }: { offset: number; envelope: string },
) {
  const { type, payload, ...rest } = JSON.parse(envelope)
  const schema = (schemas as Record<string, (typeof channelEvents)['channel.deleted']>)[type]
  if (!schema || Object.keys(rest).length > 0)
    throw new Error(`not an event of this topic: ${envelope}`)
  schema.strict().parse(payload)
  return { offset, envelope, type: type as keyof Schemas & string, payload }
}

/** 1, 2, 3 … up to the last, or from another first. */
export const upTo = (last: number, first = 1) =>
  Array.from({ length: last - first + 1 }, (_, index) => index + first)
