import {
  acknowledged,
  type Break,
  call,
  channel,
  converged,
  deleted,
  event,
  found,
  listed,
  receivedLast,
  receivedUpTo,
  sent,
  subscription,
} from './breaks.ts'
import type { checks } from './checks/index.ts'
import { CLOSED_IN_TRANSACTIONS, type FoundMessage } from './history.ts'
import { ephemeral } from './received.ts'

export type Violation = [string, (keyof typeof checks)[], Break]

/** The violations in the conversation of a run that each check must detect. */
export const violations: Violation[] = [
  [
    'an acknowledged message that is missing',
    ['acknowledgedOnce', 'seqsWithoutGaps'],
    listed((all) => all.pop()),
  ],
  [
    'a message that is there twice',
    ['acknowledgedOnce', 'seqsWithoutGaps'],
    listed((all) => all.push({ ...(all[2] as FoundMessage), id: 'id-4', seq: 4 })), // of three
  ],
  [
    'a repeat that was answered with another message',
    ['acknowledgedOnce'],
    ({ messages: [first] }) =>
      first?.acknowledged.push({ id: 'id-9', seq: 1, createdAt: '2026-01-01T00:00:00.001Z' }),
  ],
  ['a message with another seq than answered', ['acknowledgedOnce'], sent(0, acknowledged(2))],
  [
    'a message with another time than answered',
    ['acknowledgedOnce', 'createdInOrder'],
    found(1, { createdAt: '2025-12-31T00:00:00.000Z' }),
  ],
  [
    'a message that no one sent',
    ['acknowledgedOnce', 'countsOfReplies', 'nothingForeign', 'sendersInOrder'],
    found(1, { clientId: 'unsent' }),
  ],
  ['a message of another user', ['nothingForeign'], found(1, { userId: 'ben' })],
  [
    'a message that was sent to another channel',
    ['nothingForeign'],
    sent(2, { channelId: 'kitchen' }),
  ],
  ['nodes that list differently', ['sameEverywhere'], found(2, { rev: 9 }, [1])],
  ['a gap in the seqs', ['acknowledgedOnce', 'seqsWithoutGaps'], found(2, { seq: 4 })],
  ['a last seq that no message has', ['seqsWithoutGaps'], channel({ lastSeq: 4 })],
  ['a rev without an event', ['revsWithoutGaps'], channel({ rev: 4 })],
  [
    'two events of one rev',
    ['hookedAsStored', 'receivedAsStored', 'revsWithoutGaps'],
    ({ found: { events } }) => Object.assign(events[1] ?? {}, { offset: 1 }),
  ],
  [
    'messages of a sender in another order',
    ['sendersInOrder'],
    ({ messages }) => messages.unshift(...messages.splice(1, 1)),
  ],
  [
    'a message that was created before the one before it',
    ['createdInOrder'],
    (history) => {
      const earlier = '2025-12-31T00:00:00.000Z'
      found(1, { createdAt: earlier })(history)
      for (const one of history.messages[1]?.acknowledged ?? []) one.createdAt = earlier
    },
  ],
  ['an edit that was lost', ['changesAsAcknowledged'], found(2, { text: 'message 3' })],
  ['a deletion that was lost', ['changesAsAcknowledged'], sent(2, { isDeleted: true })],
  ['a text that outlived its deletion', ['changesAsAcknowledged'], deleted('edited')],
  ['a pin that was lost', ['changesAsAcknowledged'], sent(2, { isPinned: true })],
  ['a pin that no one made', ['changesAsAcknowledged'], found(2, { isPinned: true })],
  ['a reaction that was lost', ['reactionsAsAcknowledged'], found(1, { reactions: [] })],
  [
    'a reaction that is there twice',
    ['reactionsAsAcknowledged'],
    found(1, { reactions: ['👍 ben', '👍 ben'] }),
  ],
  [
    'a reaction that was removed',
    ['reactionsAsAcknowledged'],
    ({ reactions: [one] }) => Object.assign(one ?? {}, { isThere: false }),
  ],
  ['a wrong count of replies', ['countsOfReplies'], found(0, { replyCount: 2 })],
  [
    'a reply without its parent',
    ['countsOfReplies'],
    (history) => {
      found(1, { parentId: null })(history)
      found(0, { replyCount: 0 })(history)
    },
  ],
  [
    'a read position that moved back',
    ['readPositionsKept'],
    ({ found: { positions } }) => Object.assign(positions[0] ?? {}, { lastReadSeq: 1 }),
  ],
  ['an offset that was skipped', ['offsetsWithoutGaps'], subscription(0, receivedUpTo(1))],
  [
    'an offset that was received twice',
    ['offsetsWithoutGaps'],
    subscription(0, ({ received }) => received.push(...received.slice(-1))),
  ],
  [
    'offsets in another order',
    ['offsetsWithoutGaps'],
    subscription(0, ({ received }) => received.reverse()),
  ],
  ['a last event that was not received', ['offsetsWithoutGaps'], subscription(0, receivedUpTo(2))],
  [
    'an event of another message than stored',
    ['receivedAsStored'],
    subscription(0, ({ received: [first] }) => Object.assign(first ?? {}, { messageId: 'id-9' })),
  ],
  [
    'a subscription that lost its place',
    ['nothingLost'],
    subscription(0, ({ losses }) => losses.push('subscribed again without recovery')),
  ],
  [
    'a listed count of unread messages that is wrong',
    ['unreadReceived'],
    ({ found: { unread } }) => Object.assign(unread[0]?.counts ?? {}, { talk: 5 }),
  ],
  [
    'a listed total of unread messages that is wrong',
    ['unreadReceived'],
    ({ found: { unread } }) => Object.assign(unread[0] ?? {}, { total: 5 }),
  ],
  [
    'a total that was received last and is wrong',
    ['unreadReceived'],
    subscription(1, receivedLast(ephemeral('channel.total_unread_changed', { count: 5 }))),
  ],
  [
    "a channel's count that was received last and is wrong",
    ['unreadReceived'],
    subscription(
      1,
      receivedLast(ephemeral('channel.unread_changed', { channelId: 'talk', count: 5 })),
    ),
  ],
  ['a count that was never sent', ['unreadReceived'], subscription(1, receivedUpTo(1))],
  [
    'a user who is listed online for ever',
    ['presenceReceived'],
    ({ found: { presence } }) => Object.assign(presence[1] ?? {}, { isOnline: true }),
  ],
  [
    'a user who was announced offline and is not',
    ['presenceReceived'],
    subscription(1, receivedLast(ephemeral('presence.offline', { userId: 'gus' }))),
  ],
  ['a user who was never announced online', ['presenceReceived'], subscription(1, receivedUpTo(2))],
  ['a silent message that is not silent', ['changesAsAcknowledged'], sent(2, { isSilent: true })],
  ['a push for a message without pushes', ['pushedAsSent'], sent(0, { isPushed: false })],
  [
    'a message that was refused and is there',
    ['refusedAreAbsent'],
    sent(2, { isRefused: true, acknowledged: [] }),
  ],
  [
    'a message that a user sent while the channel was frozen',
    ['onlyBackendWhileFrozen'],
    event(1, { type: 'channel.updated', isFrozen: true }),
  ],
  [
    'a channel that was thawed and is frozen',
    ['frozenAsAcknowledged'],
    ({ found: { frozen } }) => Object.assign(frozen[1] ?? {}, { isFrozen: true }),
  ],
  [
    'a channel that was frozen and is not',
    ['frozenAsAcknowledged'],
    ({ freezes: [one] }) => Object.assign(one ?? {}, { to: Number.POSITIVE_INFINITY }),
  ],
  ['a message without its push', ['pushedAsSent'], ({ pushes }) => pushes.shift()],
  ['an error of the server', ['answeredOr503'], call({ status: 500, hasRetryAfter: true })],
  ['a 503 without Retry-After', ['answeredOr503'], call({ status: 503 }, [{}])],
  [
    'a call that was refused although nothing was wrong',
    ['servedAfterFaults'],
    call({ status: 503, hasRetryAfter: true }),
  ],
  [
    'a call that was refused before the first fault',
    ['servedAfterFaults'],
    call({ status: 503, hasRetryAfter: true }, [{ from: 200 }]),
  ],
  [
    'a call that was refused long after the last fault',
    ['servedAfterFaults'],
    call({ status: 503, hasRetryAfter: true, startedAt: 11_100, endedAt: 11_150 }, [{}]),
  ],
  ['a call that took 10 s', ['answeredInTime'], call({ endedAt: 10_101 })],
  [
    'a call that took 10 s because the database failed',
    ['answeredInTime'],
    call({ endedAt: 10_101 }, [{ breaksAnswers: false }]),
  ],
  ['a call without an answer', ['answeredUnlessBroken'], call({ status: undefined })],
  [
    'a call without an answer while another node was killed',
    ['answeredUnlessBroken'],
    call({ status: undefined }, [{ node: 1 }]),
  ],
  [
    'a call without an answer long after its node was killed',
    ['answeredUnlessBroken'],
    call({ status: undefined, startedAt: 2_100, endedAt: 2_150 }, [{}]),
  ],
  [
    'a call without an answer before its node was killed',
    ['answeredUnlessBroken'],
    call({ status: undefined }, [{ from: 200 }]),
  ],
  [
    'a call that was refused for good',
    ['nothingRefused'],
    ({ refusals }) => refusals.push({ name: 'send', code: 'NOT_FOUND' }),
  ],
  [
    'a node that was back late',
    ['backInTime'],
    ({ returns }) => returns.push({ node: 1, milliseconds: 10_100 }),
  ],
  ['counts or presence that were right too late', ['convergedInTime'], converged(15_100)],
  [
    'a run whose closures of connections closed none',
    ['connectionsClosed'],
    call({}, [{ name: CLOSED_IN_TRANSACTIONS, breaksAnswers: false }]),
  ],
  ['a program that ended by itself', ['noneDied'], ({ deaths }) => deaths.push('node 1 ended')],
]
