import type { Check, Heard, History } from '../history.ts'

/** The counts that a user received last, those that each node lists, and the rows agree. */
export const unreadTold: Check = (history) => {
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
    const told = ownEvents(history, userId).flatMap((heard) => [
      ...differing(`${userId} was told`, lastOf(heard, isTotal)?.count ?? 0, total),
      ...recounts.flatMap(({ channelId, count }) => {
        const isThis = ({ type, channelId: id }: Heard) =>
          type === 'channel.unread_changed' && id === channelId
        const last = lastOf(heard, isThis)?.count ?? 0
        return differing(`${userId} was told in ${channelId}`, last, count)
      }),
    ])
    return [...listed, ...told]
  })
}

/** Connected users are online and others offline: at every node, and in the last presence event. */
export const presenceTold: Check = (history) => {
  const { visitors, members, found } = history
  return visitors.flatMap(({ userId, isConnected }) => {
    const word = isConnected ? 'connected' : 'not connected'
    const listed = found.presence
      .filter((one) => one.userId === userId && one.isOnline !== isConnected)
      .map(({ node, isOnline }) => `${userId} is ${word}; node ${node} says online: ${isOnline}`)
    const told = members.flatMap((member) =>
      ownEvents(history, member).flatMap((heard) => {
        const isAbout = ({ type, userId: id }: Heard) =>
          type.startsWith('presence.') && id === userId
        const isToldOnline = lastOf(heard, isAbout)?.type === 'presence.online'
        return isToldOnline === isConnected
          ? []
          : [`${userId} is ${word}; ${member} was told online: ${isToldOnline}`]
      }),
    )
    return [...listed, ...told]
  })
}

/**
 * All nodes know soon enough who is online after a fault or change, and users are told that and
 * their counts after the last call, without a reconnect. News that never arrives violates
 * `unreadTold` or `presenceTold`.
 */
export const toldInTime: Check = ({ told, toldWithinMs }) =>
  told
    .filter((milliseconds) => milliseconds > toldWithinMs)
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

const isTotal = ({ type }: Heard) => type === 'channel.total_unread_changed'
const lastOf = (heard: Heard[], isWanted: (event: Heard) => boolean) => heard.findLast(isWanted)

const differing = (who: string, has: number, count: number) =>
  has === count ? [] : [`${who} ${has} unread instead of ${count}`]

/** The events that each subscription of a user to their own topic received. */
const ownEvents = ({ subscriptions }: History, userId: string) =>
  subscriptions
    .filter((one) => one.userId === userId && one.topic.startsWith('user:'))
    .map(({ heard }) => heard)
