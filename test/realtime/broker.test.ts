import { topics } from '@parley/contract'
import type { NodeNote } from '@parley/server/realtime/broker'
import { createPostgresBroker } from '@parley/server/realtime/postgres-broker'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()
/** A topic without subscriptions, so that the nodes of the world do nothing about these notes. */
const topic = topics.user('019c9b1e-7a52-7cc1-8f0e-0a0000000009', 'nobody')
let nodes = 0

/** A node's broker, and the offsets of the hints that it receives. */
async function openBroker() {
  const problems: string[] = []
  const offsets: number[] = []
  const broker = createPostgresBroker({
    url: world().databaseUrl,
    nodeId: `broker-${++nodes}`,
    report: (_, problem) => void problems.push(problem),
  })
  await broker.start({
    onNote: (note) => {
      if (note.kind === 'hint' && note.topic === topic) offsets.push(note.offset)
    },
    onMissedNotes: () => {},
  })
  const end = { isOver: false }
  const stop = async () => {
    if (end.isOver) return
    end.isOver = true
    await broker.stop()
  }
  onTestFinished(stop)
  return { send: broker.send, stop, problems, offsets }
}
const hint = (offset: number): NodeNote => ({ kind: 'hint', topic, offset })
const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1)

test('notes reach every other node once and in order, however many there are', async () => {
  const [sender, receiver] = [await openBroker(), await openBroker()]
  for (const offset of upTo(300)) sender.send(hint(offset))
  await until(() => receiver.offsets.length >= 150)
  // Sent while others are on their way.
  sender.send(hint(301))
  receiver.send(hint(302))
  await until(() => receiver.offsets.length >= 301 && sender.offsets.length >= 1)
  expect(receiver.offsets).toEqual(upTo(301))
  expect(sender.offsets).toEqual([302])
})

test('a note that is too large is reported, and costs no other note', async () => {
  const [sender, receiver] = [await openBroker(), await openBroker()]
  sender.send(hint(1))
  sender.send({ ...hint(2), topic: '€'.repeat(2_700) } as NodeNote)
  sender.send(hint(3))
  await until(() => receiver.offsets.length === 2)
  expect(receiver.offsets).toEqual([1, 3])
  expect(sender.problems).toEqual([expect.stringContaining('note too large: hint')])
})

test('what a node has sent before it stops arrives', async () => {
  const [sender, receiver] = [await openBroker(), await openBroker()]
  sender.send(hint(1))
  await sender.stop()
  await until(() => receiver.offsets.length === 1)
})
