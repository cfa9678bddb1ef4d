import { createNoteSender } from '@parley/server/realtime/broker/note-sender'
import { expect, test } from 'vitest'
import { pass, stopTimers } from '../hub/fixture.ts'
import { eventOf } from './fixture.ts'

test('notes that wait for the database have a limit, and later ones are sent', async () => {
  stopTimers()
  const sent: string[] = []
  let lost = 0
  let answer = () => {}
  const sender = createNoteSender({
    nodeId: 'node',
    notify: (payloads) => {
      sent.push(...payloads)
      return new Promise<void>((resolve) => {
        answer = resolve
      })
    },
    onLost: (count) => {
      lost += count
    },
  })
  const send = (offset: number, characters = 0) =>
    sender.send({ kind: 'hint', topic: 'x'.repeat(characters), offset })
  send(1)
  await pass(8)
  // The first has no answer yet.
  for (let offset = 2; offset < 12; offset++) send(offset, 1024 * 1024)
  answer()
  await pass(8)
  expect(lost).toBe(3)
  const bytes = sent.reduce((sum, payload) => sum + payload.length, 0)
  // In pieces it is a third longer.
  expect(bytes).toBeLessThan(11 * 1024 * 1024)
  for (const characters of [1024 * 1024, 0]) send(12, characters)
  answer()
  await pass(8)
  expect(sent.at(-1)).toContain('"offset":12')
  expect(lost).toBe(3)
})

test('a hint leaves its event to the log if it is too long, or much waits', async () => {
  stopTimers()
  const sent: string[] = []
  const sender = createNoteSender({
    nodeId: 'node',
    notify: async (payloads) => void sent.push(...payloads),
    onLost: () => expect.unreachable(),
  })
  const send = (offset: number, text: string) =>
    sender.send({ kind: 'hint', topic: 'topic', offset, event: eventOf(text) })
  send(1, 'short')
  // Fewer characters than a payload has bytes.
  send(2, '€'.repeat(2_700))
  sender.send({ kind: 'hint', topic: 'x'.repeat(1024 * 1024), offset: 3 })
  send(4, 'short')
  await pass(8)
  const lines = sent.flatMap((payload) => payload.split('\n'))
  const hints = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
  expect(hints.map(({ offset, event }) => [offset, event?.envelope])).toEqual([
    [1, 'short'],
    [2, undefined],
    [4, undefined],
  ])
})
