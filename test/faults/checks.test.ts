import { systemUserId } from '@parley/contract'
import { expect, test } from 'vitest'
import { backendViolations, streamed } from './backend-violations.ts'
import { type Break, call, deleted, event, sent } from './breaks.ts'
import { checks, violationsOf } from './checks/index.ts'
import { goodHistory } from './example.ts'
import { addFound, ephemeral, forgetTypists } from './received.ts'
import { violations as conversation } from './violations.ts'

const violations = [...conversation, ...backendViolations]

test('a run in which every promise was kept has no violation', () => {
  expect(violationsOf(goodHistory())).toEqual({})
})

test.each(violations)('the checker reports %s', (_name, expected, harm) => {
  const history = goodHistory()
  harm(history)
  expect(Object.keys(violationsOf(history)).sort()).toEqual(expected)
})

test('each check of the fault rig has a violation that it sees', () => {
  const seen = new Set<string>(violations.flatMap(([, expected]) => expected))
  expect(Object.keys(checks).filter((check) => !seen.has(check))).toEqual([])
})

test('state fetched after a reconnect counts unless a newer event came before it', () => {
  const before = [
    ephemeral('presence.online', { userId: 'ben' }),
    ephemeral('typing.start', { userId: 'ben' }),
    ephemeral('typing.start', { userId: 'cem' }),
    ephemeral('typing.stop', { userId: 'cem' }),
  ]
  const meanwhile = [
    ephemeral('presence.offline', { userId: 'ben' }),
    ephemeral('channel.unread_changed', { channelId: 'talk', count: 2 }),
  ]
  const record = {
    userId: 'ana',
    topic: 'user:app:ana',
    start: 0,
    losses: [],
    received: [...before],
  }
  forgetTypists(record)
  record.received.push(...meanwhile)
  const newer = [
    ephemeral('presence.online', { userId: 'cem' }),
    ephemeral('channel.unread_changed', { channelId: 'kitchen', count: 1 }),
  ]
  addFound(record, before.length + 1, [
    ephemeral('presence.online', { userId: 'ben' }),
    ephemeral('channel.unread_changed', { channelId: 'talk', count: 1 }),
    ...newer,
  ])
  const forgotten = ephemeral('typing.stop', { userId: 'ben' })
  expect(record.received).toEqual([...before, forgotten, ...meanwhile, ...newer])
})

const allowed: [string, Break][] = [
  [
    'a system message while the channel is frozen',
    (history) => {
      event(1, { type: 'channel.updated', isFrozen: true })(history)
      event(2, { authorId: systemUserId })(history)
    },
  ],
  [
    'a message of a user after the channel was thawed',
    (history) => {
      event(0, { type: 'channel.updated', isFrozen: true })(history)
      event(1, { type: 'channel.updated', isFrozen: false })(history)
    },
  ],
  [
    'a reaction to a message without pushes',
    ({ messages: [first], pushes }) => {
      pushes.splice(0, 1, 'id-1:ana:reaction')
      Object.assign(first ?? {}, { isPushed: false })
    },
  ],
  ['no answer of a node that was killed', call({ status: undefined }, [{}])],
  ['a slow answer of a node that was stopped', call({ endedAt: 15_000 }, [{}])],
  ['a 503 during a fault', call({ status: 503, hasRetryAfter: true }, [{}])],
  ['a push that was made twice', ({ pushes }) => pushes.push('id-1:ben:new-message')],
  ['a message that was deleted', deleted('')],
  ['a message that was never acknowledged and is there', sent(2, { acknowledged: [] })],
  ['a message that grew and was interrupted', streamed()],
  [
    'a run without a webhook',
    (history) => {
      history.hooked.splice(0)
      history.hasWebhook = false
    },
  ],
  ['a delivery that was repeated', ({ hooked }) => hooked.push(...hooked.slice(-1))],
  [
    'a call that was refused while its node was back for a moment',
    (history) =>
      call({ status: 503, hasRetryAfter: true, startedAt: 11_000, endedAt: 11_050 }, [{}])(history),
  ],
]
test.each(allowed)('the checker accepts %s', (_name, change) => {
  const history = goodHistory()
  change(history)
  expect(violationsOf(history)).toEqual({})
})
