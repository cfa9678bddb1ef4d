import { expect, test } from 'vitest'
import { isOffline } from '../support/chat.ts'
import { scriptedChat } from '../support/scripted/index.ts'
import { openAndLeave } from '../support/scripted/leave.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** A room that was left, whose pinned message is older than its newest page. */
async function leftRoom() {
  const clock = stoppedClock()
  const { chat, channel, cut } = scriptedChat()
  const talk = channel('c')
  for (let count = 1; count <= 100; count++) talk.send(`${count}`)
  talk.pin('c-0001')
  await chat.connect()
  const room = chat.channel('c')
  await openAndLeave(room.pins, clock)
  const pins = () => room.pins.getSnapshot().items.map(({ text }) => text)
  expect(pins()).toEqual(['1'])
  const comeBack = async () => {
    room.pins.subscribe(() => {})
    await clock.forward(10)
    expect(room.messages.getSnapshot().status).toBe('ready')
  }
  return { chat, talk, room, pins, comeBack, clock, cut }
}

test('an old pin that is deleted after a return to the room goes', async () => {
  const { talk, pins, comeBack, clock } = await leftRoom()
  await comeBack()
  expect(pins()).toEqual(['1'])
  talk.delete('c-0001')
  await clock.forward(10)
  expect(pins()).toEqual([])
})

test('an old pin that is deleted while the room is left goes with the return', async () => {
  const { talk, pins, comeBack } = await leftRoom()
  talk.delete('c-0001')
  await comeBack()
  expect(pins()).toEqual([])
})

test('an old pin taken back without a network goes at once, also after a return', async () => {
  const { chat, room, pins, comeBack, cut } = await leftRoom()
  await comeBack()
  cut()
  await isOffline(chat)
  void room.unpin('c-0001')
  expect(pins()).toEqual([])
})
