import { expect, test } from 'vitest'
import { ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

test('a room that was left keeps its newest page, all but the last 20 keep nothing', async () => {
  const clock = stoppedClock()
  const { chat, channel } = scriptedChat()
  const ids = Array.from({ length: 22 }, (_, index) => `c${index}`)
  for (const id of ids) {
    const { send } = channel(id)
    for (let count = 0; count < 60; count++) send(`${id} ${count}`)
  }
  await chat.connect()
  for (const id of ids) {
    const room = chat.channel(id)
    const stop = room.messages.subscribe(() => {})
    await clock.forward(10)
    await until(room.messages, ready)
    await room.messages.loadOlder()
    expect(room.messages.getSnapshot().items).toHaveLength(60)
    stop()
    await clock.forward(2_000)
  }
  await quiet()
  const kept = ids.map((id) => chat.channel(id).messages.getSnapshot().items.length)
  expect(kept).toEqual([0, 0, ...ids.slice(2).map(() => 50)])

  const [first, last] = [chat.channel('c0').messages, chat.channel('c21').messages]
  expect([last.getSnapshot().status, last.getSnapshot().hasOlder]).toEqual(['stale', true])
  for (const store of [first, last]) store.subscribe(() => {})
  await clock.forward(10)
  for (const store of [first, last]) expect((await until(store, ready)).items).toHaveLength(50)
  await last.loadOlder()
  expect(last.getSnapshot().items).toHaveLength(60)
})
