import { createNoteSender } from '@parley/server/realtime/note-sender'
import { expect, test } from 'vitest'
import { pass, stopTimers } from '../hub/fixture.ts'

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
