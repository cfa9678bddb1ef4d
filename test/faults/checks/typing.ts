import { groupsOf } from '../groups.ts'
import type { Check } from '../history.ts'

/** Nobody is seen to type for ever: for each subscription, the last that it heard was the end. */
export const typingEnded: Check = ({ subscriptions }) =>
  subscriptions.flatMap(({ topic, userId, heard }) => {
    const typing = heard.filter(({ type }) => type.startsWith('typing.'))
    return [...groupsOf(typing, (event) => event.userId)]
      .filter(([, events]) => events.at(-1)?.type !== 'typing.stop')
      .map(([typist]) => `${userId} on ${topic}: ${typist} still types`)
  })
