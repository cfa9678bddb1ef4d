import { groupsOf } from '../groups.ts'
import type { Check, FoundMessage, History, Listing } from '../history.ts'

/** Every message that was acknowledged is there once, as its acknowledgements said. */
export const acknowledgedOnce: Check = ({ messages, found }) => {
  const violations: string[] = []
  for (const { node, channelId, messages: listed } of found.listings) {
    const copies = groupsOf(listed, ({ clientId }) => clientId)
    for (const { clientId, acknowledged } of messages.filter(
      (one) => one.channelId === channelId,
    )) {
      const there = copies.get(clientId) ?? []
      const [first] = there
      if (acknowledged.length > 0 && there.length === 0)
        violations.push(`node ${node}: ${clientId} was acknowledged and is missing`)
      if (there.length > 1)
        violations.push(`node ${node}: ${clientId} is there ${there.length} times`)
      for (const { id, seq, createdAt } of acknowledged)
        if (first && (first.id !== id || first.seq !== seq || first.createdAt !== createdAt))
          violations.push(
            `node ${node}: ${clientId} was acknowledged as ${id} ${seq}, is ${first.id}`,
          )
    }
  }
  return violations
}

/** No message is there that no one sent. */
export const nothingForeign: Check = ({ messages, streams, found }) => {
  const sent = new Map([...messages, ...streams].map((one) => [one.clientId, one]))
  return found.listings.flatMap(({ node, channelId, messages: listed }) =>
    listed
      .filter(({ clientId, userId }) => {
        const message = sent.get(clientId ?? '')
        return message?.userId !== userId || message.channelId !== channelId
      })
      .map(({ id }) => `node ${node}: no one sent message ${id} to channel ${channelId}`),
  )
}

/** All nodes list the same. */
export const sameEverywhere: Check = ({ found }) =>
  [...groupsOf(found.listings, ({ channelId }) => channelId)].flatMap(([channelId, listings]) => {
    const texts = new Set(listings.map(({ messages }) => JSON.stringify(messages)))
    return texts.size > 1 ? [`the nodes list channel ${channelId} differently`] : []
  })

/** The seqs of a channel are 1 to n, and n is what its row says. */
export const seqsWithoutGaps: Check = ({ found }) =>
  found.listings.flatMap(({ node, channelId, messages }) => {
    const last = found.channels.find(({ id }) => id === channelId)?.lastSeq
    const seqs = messages.map(({ seq }) => seq)
    return isUpTo(seqs, last)
      ? []
      : [`node ${node}: the seqs of ${channelId} are not 1 to ${last}: ${oddIn(seqs)}`]
  })

/** A channel has one event for each of its revs, 1 to n. */
export const revsWithoutGaps: Check = ({ found }) => {
  const events = groupsOf(found.events, ({ topic }) => topic)
  return found.channels.flatMap(({ id, topic, rev }) => {
    const offsets = (events.get(topic) ?? []).map(({ offset }) => offset)
    return isUpTo(offsets, rev)
      ? []
      : [`the events of ${id} are not those of its revs, 1 to ${rev}: ${oddIn(offsets)}`]
  })
}

/** A sender's messages lie in the order in which they were sent. */
export const sendersInOrder: Check = ({ messages, found }) => {
  const order = new Map(messages.map(({ clientId }, index) => [clientId, index]))
  const place = ({ clientId }: FoundMessage) => order.get(clientId ?? '') ?? -1
  return inEachListing(found, (listed) =>
    [...groupsOf(listed, ({ userId }) => userId).values()].flatMap((own) =>
      pairsOf(own)
        .filter(([one, next]) => place(next) < place(one))
        .map(([one, next]) => `${next.clientId} lies after ${one.clientId}, which was sent later`),
    ),
  )
}

/** Messages were created in the order of their seqs. */
export const createdInOrder: Check = ({ found }) =>
  inEachListing(found, (listed) =>
    pairsOf(listed)
      .filter(([one, next]) => next.createdAt < one.createdAt)
      .map(([one, next]) => `seq ${next.seq} was created before seq ${one.seq}`),
  )

const inEachListing = (
  { listings }: History['found'],
  check: (messages: FoundMessage[]) => string[],
) =>
  listings.flatMap(({ node, channelId, messages }: Listing) =>
    check(messages).map((violation) => `node ${node}, channel ${channelId}: ${violation}`),
  )

const pairsOf = <T>(items: T[]) =>
  items.slice(1).flatMap((next, index) => {
    const one = items[index]
    return one === undefined ? [] : [[one, next] as const]
  })

const isUpTo = (numbers: number[], last: number | undefined) =>
  numbers.length === last && numbers.every((number, index) => number === index + 1)

/** The first number that is out of its place. */
const oddIn = (numbers: number[]) => {
  const index = numbers.findIndex((number, place) => number !== place + 1)
  return index < 0 ? `there are ${numbers.length}` : `${numbers[index]} is at place ${index + 1}`
}
