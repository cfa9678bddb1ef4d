import type { ReceivedEvent, Subscription } from './history.ts'

/** An event without a position, as a subscription received it. */
export const ephemeral = (type: string, about: Partial<ReceivedEvent> = {}): ReceivedEvent => ({
  offset: undefined,
  type,
  messageId: undefined,
  channelId: undefined,
  userId: undefined,
  count: undefined,
  ...about,
})

/**
 * Adds the state that a client fetched after it had received `place` events. Events received
 * meanwhile about the same subject say the same, or are newer.
 */
export function addFound({ received }: Subscription, place: number, found: ReceivedEvent[]) {
  const meanwhile = new Set(received.slice(place).map(subjectOf))
  received.push(...found.filter((one) => !meanwhile.has(subjectOf(one))))
}

/** Events of the same subject replace each other. */
const subjectOf = ({ type, channelId, userId }: ReceivedEvent) =>
  `${type.startsWith('presence.') ? 'presence' : type} ${channelId} ${userId}`

/** Makes a client that reconnects show no user as typing: users who still type keep saying so. */
export function forgetTypists({ received }: Subscription) {
  const typing = new Set<string>()
  for (const { type, userId = '' } of received) {
    if (type === 'typing.start') typing.add(userId)
    if (type === 'typing.stop') typing.delete(userId)
  }
  received.push(...[...typing].map((userId) => ephemeral('typing.stop', { userId })))
}
