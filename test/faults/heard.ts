import type { Heard, Subscription } from './history.ts'

/** An event without a position, as a subscription heard it. */
export const ephemeral = (type: string, about: Partial<Heard> = {}): Heard => ({
  offset: undefined,
  type,
  messageId: undefined,
  channelId: undefined,
  userId: undefined,
  count: undefined,
  ...about,
})

/**
 * Adds the state that a client fetched after it had heard `place` events. Events heard meanwhile
 * about the same subject say the same, or are newer.
 */
export function addFound({ heard }: Subscription, place: number, found: Heard[]) {
  const meanwhile = new Set(heard.slice(place).map(subjectOf))
  heard.push(...found.filter((one) => !meanwhile.has(subjectOf(one))))
}

/** Events of the same subject replace each other. */
const subjectOf = ({ type, channelId, userId }: Heard) =>
  `${type.startsWith('presence.') ? 'presence' : type} ${channelId} ${userId}`

/** Makes a client that reconnects show nobody as typing: users who still type keep saying so. */
export function forgetTypists({ heard }: Subscription) {
  const typing = new Set<string>()
  for (const { type, userId = '' } of heard) {
    if (type === 'typing.start') typing.add(userId)
    if (type === 'typing.stop') typing.delete(userId)
  }
  heard.push(...[...typing].map((userId) => ephemeral('typing.stop', { userId })))
}
