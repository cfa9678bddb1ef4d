import { z } from 'zod'
import { type ChannelEventType, channelEvents, type UserEventType, userEvents } from './events.ts'
import * as field from './fields.ts'

const rev = z.int().meta({
  description:
    'Position of the event in its channel, which numbers them 1, 2, 3. Of two events, or of an ' +
    'event and a copy of the message, the higher one is newer.',
  examples: [12],
})
const userId = field.userId().meta({ description: 'The user whom the event is for.' })

type WithField<Events extends Record<string, z.ZodObject>, Field extends z.ZodRawShape> = {
  [Type in keyof Events]: z.ZodObject<Events[Type]['shape'] & Field>
}
const extended = <Events extends Record<string, z.ZodObject>, Field extends z.ZodRawShape>(
  events: Events,
  field: Field,
) =>
  Object.fromEntries(
    Object.entries(events).map(([type, schema]) => [
      type,
      schema.extend(field).meta({ description: schema.description }),
    ]),
  ) as unknown as WithField<Events, Field> // the same events, each with the field

/** The `data` of each event that a webhook is sent: the event's payload, and where it belongs. */
export const webhookEvents = {
  ...extended(channelEvents, { rev }),
  ...extended(userEvents, { userId }),
  'webhook.test': z
    .object({
      webhookId: field.webhookId(),
    })
    .meta({ description: 'A test of the webhook. Sent whatever its events are.' }),
}

/** The type of a durable event, of a channel or of a user. */
type EventType = ChannelEventType | UserEventType
type NamespaceOf<Type> = Type extends `${infer Noun}.${string}` ? Noun : never
type Pattern = '*' | `${NamespaceOf<EventType>}.*` | EventType

const types = [...Object.keys(channelEvents), ...Object.keys(userEvents)]
const namespaces = [...new Set(types.map((type) => `${type.split('.')[0]}.*`))]
// Object.keys loses the literal names.
const patterns = ['*', ...namespaces, ...types] as ['*', ...Pattern[]]

/** The events that a webhook may ask for: one, those of a noun, or all. */
export const EventPattern = z.enum(patterns).meta({
  id: 'EventPattern',
  description: 'The type of an event, or `message.*` for all about messages, or `*` for all.',
  examples: ['message.*'],
})
export type EventPattern = z.infer<typeof EventPattern>
