import { groupsOf } from '../groups.ts'
import type { Check, History } from '../history.ts'

/**
 * The receiver of the webhook has accepted each durable event, and nothing else, and can sort those
 * of a channel by their revs. Events for a user have no rev, and are counted.
 */
export const hookedAsStored: Check = (history) => {
  if (!history.hasWebhook) return []
  const stored = groupsOf(history.found.events, storedPlaceOf)
  const accepted = groupsOf(history.hooked, placeOf)
  return [...new Set([...stored.keys(), ...accepted.keys()])].flatMap((place) => {
    const types = (stored.get(place) ?? []).map(({ type }) => type)
    const deliveries = accepted.get(place) ?? []
    const ids = new Set(deliveries.map(({ id }) => id))
    // Events of a message that was deleted later have become its deletion.
    const isDeletion = types.includes('message.deleted')
    const foreign = deliveries.filter(({ type }) => !isDeletion && !types.includes(type))
    return [
      ...(ids.size === types.length
        ? []
        : [`the webhook has ${place} in ${ids.size} deliveries, instead of ${types.length}`]),
      ...foreign.map(({ type }) => `the webhook got ${type} as ${place}, instead of ${types}`),
    ]
  })
}

const placeOf = ({ channelId, userId, rev }: History['hooked'][number]) =>
  rev === undefined ? `what is for ${userId}` : `rev ${rev} of ${channelId}`

function storedPlaceOf({ topic, offset }: History['found']['events'][number]) {
  const [kind, , ...id] = topic.split(':')
  return kind === 'user' ? `what is for ${id.join(':')}` : `rev ${offset} of ${id}`
}
