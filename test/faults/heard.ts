import type { Heard, Subscription } from './history.ts'

/** What an event without a position says. */
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
 * What a client found that asked when it had heard `place` events. What it heard meanwhile about
 * the same subject says the same, or what is newer.
 */
export function addFound({ heard }: Subscription, place: number, found: Heard[]) {
  const meanwhile = new Set(heard.slice(place).map(subjectOf))
  heard.push(...found.filter((one) => !meanwhile.has(subjectOf(one))))
}

/** Events of the same subject replace each other. */
const subjectOf = ({ type, channelId, userId }: Heard) =>
  `${type.startsWith('presence.') ? 'presence' : type} ${channelId} ${userId}`

/** A client that reconnects shows nobody as typing: whoever types goes on to say so. */
export function forgetTypists({ heard }: Subscription) {
  const typing = new Set<string>()
  for (const { type, userId = '' } of heard) {
    if (type === 'typing.start') typing.add(userId)
    if (type === 'typing.stop') typing.delete(userId)
  }
  heard.push(...[...typing].map((userId) => ephemeral('typing.stop', { userId })))
}
