import type { Broker, CommandsNote, NodeNote } from '@parley/server/realtime/broker/index'
import { withSpare } from '@parley/server/realtime/broker/spare-broker'
import { expect, test } from 'vitest'

/** A broker whose test says what it receives, and keeps what it sends. */
function scriptedBroker() {
  const sent: NodeNote[] = []
  const stopped: string[] = []
  let receive = (_: NodeNote) => {}
  const broker: Broker = {
    start: async ({ onNote }) => {
      receive = onNote
    },
    send: (note) => void sent.push(note),
    hasPeers: () => true,
    follow: () => {},
    unfollow: () => {},
    settled: () => undefined,
    stop: async () => void stopped.push('stopped'),
  }
  return { broker, sent, stopped, receive: (note: NodeNote) => receive(note) }
}

const commandsFor = (node: string, id: string): CommandsNote => ({
  ...{ kind: 'commands', id, from: 'here', node, session: 's', data: '{}', isBinary: false },
})

test('commands go by PostgreSQL while Redis is away, and answers go the same way', async () => {
  const [main, spare] = [scriptedBroker(), scriptedBroker()]
  let isUp = true
  const both = withSpare({ ...main.broker, isUp: () => isUp }, spare.broker, 'here')
  const received: NodeNote[] = []
  await both.start({ onNote: (note) => void received.push(note), onMissedNotes: () => {} })
  const [first, second] = [commandsFor('there', '1'), commandsFor('there', '2')]
  both.send(first)
  isUp = false
  both.send(second)
  const hint = { kind: 'hint', topic: 't', offset: 1 } as const
  both.send(hint)
  main.receive(commandsFor('here', '3'))
  spare.receive(commandsFor('here', '4'))
  spare.receive(commandsFor('elsewhere', '5'))
  const answer = { kind: 'accepted', node: 'there', isKnown: true } as const
  const answerTo = (id: string): NodeNote => ({ ...answer, id })
  isUp = true
  for (const id of ['3', '4', '5']) both.send(answerTo(id))
  isUp = false
  both.send(answerTo('6'))
  for (const note of [first, second]) both.resend(note)
  expect(main.sent).toEqual([first, hint, answerTo('3'), answerTo('5')])
  expect(spare.sent).toEqual([second, answerTo('4'), answerTo('6'), first])
  expect(received).toHaveLength(3)
  await both.stop()
  both.resend(commandsFor('there', '7'))
  expect(spare.sent).toHaveLength(4)
  expect([main.stopped, spare.stopped]).toEqual([['stopped'], ['stopped']])
})
