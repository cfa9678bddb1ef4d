import { systemUserId } from '@parley/contract'
import type { Check } from '../history.ts'

/** Between the freezing of a channel and its thaw, by its events, only the backend has sent. */
export const onlyBackendWhileFrozen: Check = ({ found }) => {
  const frozen = new Set<string>()
  return found.events.flatMap(({ topic, offset, type, authorId, isFrozen }) => {
    if (isFrozen) frozen.add(topic)
    if (isFrozen === false) frozen.delete(topic)
    return type === 'message.new' && authorId !== systemUserId && frozen.has(topic)
      ? [`${authorId} sent at ${offset} of ${topic} while the channel was frozen`]
      : []
  })
}

/** Each node says of every channel what was acknowledged last. */
export const frozenAsAcknowledged: Check = ({ freezes, found }) =>
  found.frozen.flatMap(({ node, channelId, isFrozen }) => {
    const expected = freezes.some(
      (freeze) => freeze.channelId === channelId && freeze.to === Number.POSITIVE_INFINITY,
    )
    return isFrozen === expected
      ? []
      : [`node ${node} says that channel ${channelId} is frozen: ${isFrozen}`]
  })

/** A message whose only attempt was refused is nowhere. */
export const refusedAreAbsent: Check = ({ messages, found }) => {
  const refused = new Set(messages.flatMap((one) => (one.isRefused ? [one.clientId] : [])))
  return found.listings.flatMap(({ node, messages: listed }) =>
    listed
      .filter(({ clientId }) => refused.has(clientId ?? ''))
      .map(({ clientId }) => `node ${node}: ${clientId} was refused and is there`),
  )
}
