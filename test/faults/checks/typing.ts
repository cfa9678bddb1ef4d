import { groupsOf } from '../groups.ts'
import type { Check } from '../history.ts'

/** No user is seen to type for ever: the last that each subscription received was the end. */
export const typingEnded: Check = ({ subscriptions }) =>
  subscriptions.flatMap(({ topic, userId, received }) => {
    const typing = received.filter(({ type }) => type.startsWith('typing.'))
    return [...groupsOf(typing, (event) => event.userId)]
      .filter(([, events]) => events.at(-1)?.type !== 'typing.stop')
      .map(([typist]) => `${userId} on ${topic}: ${typist} still types`)
  })
