import { expect, test } from 'vitest'
import { isLive, isOffline } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** Requests whose answers are lost with the network. */

const SEND = /^POST .*\/messages$/

/** A live client whose first request of this kind arrives, and is never answered. */
async function unanswered(request: RegExp) {
  const clock = stoppedClock()
  const server = scriptedChat()
  const talk = server.channel('c')
  talk.send('theirs')
  void server.chat.connect()
  await clock.forward(10)
  const room = server.chat.channel('c')
  const { asked } = server.hold(request)
  const comeBack = async () => {
    server.mend()
    server.chat.wake()
    await clock.forward(10)
    await isLive(server.chat)
    await clock.forward(10)
  }
  return { ...server, clock, talk, room, asked, comeBack }
}

test('a message that was lost with the network is sent again once that is back', async () => {
  const { chat, clock, talk, room, asked, comeBack, cut, count } = await unanswered(SEND)
  const first = room.send({ text: '1' })
  await asked
  cut()
  await isOffline(chat)
  const second = room.send({ text: '2' })
  await comeBack()
  expect([first, second].map(({ message }) => message.status)).toEqual(['sent', 'sent'])
  expect(talk.messages.map(({ text }) => text)).toEqual(['theirs', '1', '2'])
  await clock.forward(60_000)
  // The second time both go together.
  expect([count(SEND), count(/\/batch$/)]).toEqual([1, 1])
})

test('a deletion that was lost with the network is done, though not found again', async () => {
  const { chat, talk, room, asked, comeBack, cut, refuseRequests } = await unanswered(/^DELETE /)
  const deleted = room.delete('c-0001')
  await asked
  expect(talk.find('c-0001').deletedAt).not.toBeNull()
  refuseRequests(/^DELETE /, { status: 404, code: 'NOT_FOUND' })
  cut()
  await isOffline(chat)
  await comeBack()
  await deleted
})

test('a request that waits for its answer on a connection that lasts is left alone', async () => {
  const { chat, clock, room, asked, count, cut, comeBack } = await unanswered(SEND)
  cut()
  await isOffline(chat)
  await comeBack()
  void room.send({ text: '1' })
  await asked
  for (let wakes = 0; wakes < 3; wakes++) {
    chat.wake()
    await clock.forward(1_000)
  }
  await quiet()
  expect(count(SEND)).toBe(1)
})
