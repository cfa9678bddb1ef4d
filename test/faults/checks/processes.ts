import { type Check, CLOSED_IN_TRANSACTIONS } from '../history.ts'

/** Nothing ended by itself. */
export const noneDied: Check = ({ deaths }) => deaths

/** The fault that closes connections has closed some: otherwise it has shown nothing. */
export const connectionsClosed: Check = ({ faults, closures }) =>
  closures === 0 && faults.some(({ name }) => name === CLOSED_IN_TRANSACTIONS)
    ? ['no connection was closed within a transaction']
    : []

/** Each node serves again within 2 s of the database, or 10 s where the machine is busy. */
export const backInTime: Check = ({ returns, returnWithinMs }) =>
  returns
    .filter(({ milliseconds }) => milliseconds > returnWithinMs)
    .map(({ node, milliseconds }) => `node ${node} was back after ${Math.round(milliseconds)} ms`)

/**
 * Each member but the author got at least one push for each message that still exists, and no one
 * for one that was sent without.
 */
export const pushedAsSent: Check = ({ messages, members, pushes }) => {
  const made = new Set(pushes.map((push) => push.split(':').slice(0, 2).join(':')))
  const missing = messages
    .filter(({ isDeleted, isPushed }) => !isDeleted && isPushed)
    .flatMap(({ acknowledged: [first], userId, clientId }) =>
      members
        .filter((member) => first && member !== userId && !made.has(`${first.id}:${member}`))
        .map((member) => `${member} got no push for ${clientId}`),
    )
  const unpushed = new Set(
    messages.flatMap(({ acknowledged: [first], isPushed }) =>
      first && !isPushed ? [first.id] : [],
    ),
  )
  const unwanted = pushes
    .filter((push) => unpushed.has(push.split(':')[0] ?? '') && !push.endsWith(':reaction'))
    .map((push) => `${push} was sent for a message without pushes`)
  return [...missing, ...unwanted]
}
