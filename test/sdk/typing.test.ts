import { expect, test } from 'vitest'
import { scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

const TYPING = 'POST /api/channels/c/typing'

/** A room whose client is live, and its last report of the user's typing. */
async function typist() {
  const clock = stoppedClock()
  const { chat, channel, bodies, count, hold } = scriptedChat()
  channel('c')
  await chat.connect()
  const lastCall = () => ({ ...bodies.get(TYPING), times: count(/typing$/) })
  return { clock, room: chat.channel('c'), lastCall, hold }
}

test('a user who types on is shown as typing until five seconds after the last key', async () => {
  const { clock, room, lastCall } = await typist()
  for (let second = 0; second < 8; second++) {
    room.keystroke()
    await clock.forward(1_000)
    expect(lastCall()).toMatchObject({ typing: true })
  }
  await clock.forward(3_000)
  expect(lastCall()).toMatchObject({ typing: true })
  await clock.forward(1_000)
  expect(lastCall()).toMatchObject({ typing: false })
})

test('a user who types on at once after a message is shown as typing again', async () => {
  const { clock, room, lastCall } = await typist()
  room.keystroke()
  await clock.forward(0)
  room.send({ text: 'sent' })
  room.keystroke()
  await clock.forward(0)
  expect(lastCall()).toMatchObject({ typing: true, times: 3 })
})

test('the report that a user stopped typing is sent after the one that they started', async () => {
  const { clock, room, lastCall, hold } = await typist()
  const start = hold(/typing$/)
  room.keystroke()
  await start.asked
  await room.send({ text: 'sent' }).sent
  await clock.forward(0)
  expect(lastCall()).toMatchObject({ typing: true, times: 1 })
  start.release()
  await clock.forward(0)
  expect(lastCall()).toMatchObject({ typing: false, times: 2 })
})
