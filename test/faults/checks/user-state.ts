import type { Check, History, ReceivedEvent } from '../history.ts'

/** The counts that a user received last, those that each node lists, and the rows agree. */
export const unreadReceived: Check = (history) => {
  const { found, members } = history
  return members.flatMap((userId) => {
    const recounts = found.recounts.filter((one) => one.userId === userId)
    const total = recounts.reduce((sum, { count }) => sum + count, 0)
    const listed = found.unread
      .filter((one) => one.userId === userId)
      .flatMap(({ node, counts, total: listedTotal }) => [
        ...differing(`node ${node} lists ${userId}`, listedTotal, total),
        ...recounts.flatMap(({ channelId, count }) =>
          differing(`node ${node} lists ${userId} in ${channelId}`, counts[channelId] ?? 0, count),
        ),
      ])
    const wrong = ownEvents(history, userId).flatMap((received) => [
      ...differing(`${userId} received`, lastOf(received, isTotal)?.count ?? 0, total),
      ...recounts.flatMap(({ channelId, count }) => {
        const isThis = ({ type, channelId: id }: ReceivedEvent) =>
          type === 'channel.unread_changed' && id === channelId
        const last = lastOf(received, isThis)?.count ?? 0
        return differing(`${userId} received for ${channelId}`, last, count)
      }),
    ])
    return [...listed, ...wrong]
  })
}

/** Connected users are online and others offline: at every node, and in the last presence event. */
export const presenceReceived: Check = (history) => {
  const { visitors, members, found } = history
  return visitors.flatMap(({ userId, isConnected }) => {
    const word = isConnected ? 'connected' : 'not connected'
    const listed = found.presence
      .filter((one) => one.userId === userId && one.isOnline !== isConnected)
      .map(({ node, isOnline }) => `${userId} is ${word}; node ${node} says online: ${isOnline}`)
    const wrong = members.flatMap((member) =>
      ownEvents(history, member).flatMap((received) => {
        const isAbout = ({ type, userId: id }: ReceivedEvent) =>
          type.startsWith('presence.') && id === userId
        const wasSeenOnline = lastOf(received, isAbout)?.type === 'presence.online'
        return wasSeenOnline === isConnected
          ? []
          : [`${userId} is ${word}; ${member} saw them online: ${wasSeenOnline}`]
      }),
    )
    return [...listed, ...wrong]
  })
}

/**
 * All nodes know soon enough who is online after a fault or change, and users receive that
 * and their counts after the last call, without a reconnect. An event that never arrives violates
 * `unreadReceived` or `presenceReceived`.
 */
export const convergedInTime: Check = ({ convergenceMs, convergeWithinMs }) =>
  convergenceMs
    .filter((milliseconds) => milliseconds > convergeWithinMs)
    .map((milliseconds) => `counts or presence were right after ${Math.round(milliseconds)} ms`)

/** Read positions are never before what was answered. */
export const readPositionsKept: Check = ({ reads, found }) => {
  const now = new Map(found.positions.map((one) => [`${one.userId} ${one.channelId}`, one]))
  return reads.flatMap(({ userId, channelId, lastReadSeq }) => {
    const seq = now.get(`${userId} ${channelId}`)?.lastReadSeq ?? 0
    return seq < lastReadSeq
      ? [`${userId} had read up to ${lastReadSeq} of ${channelId}, now up to ${seq}`]
      : []
  })
}

const isTotal = ({ type }: ReceivedEvent) => type === 'channel.total_unread_changed'
const lastOf = (received: ReceivedEvent[], isWanted: (event: ReceivedEvent) => boolean) =>
  received.findLast(isWanted)

const differing = (who: string, has: number, count: number) =>
  has === count ? [] : [`${who} ${has} unread instead of ${count}`]

/** The events that each subscription of a user to their own topic received. */
const ownEvents = ({ subscriptions }: History, userId: string) =>
  subscriptions
    .filter((one) => one.userId === userId && one.topic.startsWith('user:'))
    .map(({ received }) => received)
