import { expect, test } from 'vitest'
import { ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** What pending messages say: why they wait, and until when. */

const SENDS = /^POST .*\/messages(\/batch)?$/
const page = (status: number) => new Response('<h1>an error page</h1>', { status })

async function live() {
  const clock = stoppedClock()
  const scene = scriptedChat()
  for (const id of ['c', 'other']) scene.channel(id)
  await scene.chat.connect()
  return { clock, ...scene, room: scene.chat.channel('c') }
}

test('messages behind one that waits say why as well, also those written meanwhile', async () => {
  const { chat, clock, intercept, refuseRequests, hold, room } = await live()
  const other = hold(/channels\/other\/messages$/)
  intercept(/channels\/c\/messages/, () => page(503))
  const elsewhere = chat.channel('other').send({ text: 'on its way' })
  const [first, behind] = [room.send({ text: 'first' }), room.send({ text: 'behind' })]
  await other.asked
  await quiet()
  const late = room.send({ text: 'late' })
  const { waiting } = first.message
  expect(waiting).toMatchObject({ error: { status: 503 } })
  expect([behind, late].map(({ message }) => message.waiting)).toEqual([waiting, waiting])
  expect(elsewhere.message).toMatchObject({ status: 'pending', waiting: undefined })
  refuseRequests()
  other.release()
  const held = hold(SENDS)
  await clock.forward(1_000)
  await held.asked
  const waits = () => [first, behind, late].map(({ message }) => message.waiting)
  expect(waits()).toEqual([undefined, undefined, undefined])
  held.release()
  await Promise.all([first, behind, late, elsewhere].map(({ sent }) => sent))
  expect(waits()).toEqual([undefined, undefined, undefined])
})

test('a message that failed does not say that it waits, whatever is behind it', async () => {
  const { intercept, room } = await live()
  intercept(SENDS, (body) => page(JSON.stringify(body).includes('refused') ? 403 : 503))
  const refused = room.send({ text: 'refused' })
  const behind = room.send({ text: 'behind' })
  await expect(refused.sent).rejects.toMatchObject({ status: 403 })
  await quiet()
  expect(behind.message).toMatchObject({ status: 'pending', waiting: { error: { status: 503 } } })
  expect(refused.message).toMatchObject({ status: 'failed', waiting: undefined })
})

test('a thousand messages that wait are redrawn together, not one by one', async () => {
  const { clock, intercept, room } = await live()
  intercept(SENDS, () => page(503))
  room.messages.subscribe(() => {})
  await clock.forward(1)
  await until(room.messages, ready)
  for (let sent = 0; sent < 1_000; sent++) room.send({ text: `message ${sent}` })
  await quiet()
  let redraws = 0
  room.messages.subscribe(() => {
    redraws += 1
  })
  await clock.forward(60_000)
  const { items } = room.messages.getSnapshot()
  expect(new Set(items.map(({ waiting }) => waiting?.until)).size).toBe(1)
  expect(items[999]?.waiting).toMatchObject({ error: { status: 503 } })
  expect(redraws).toBeGreaterThan(8)
  expect(redraws).toBeLessThan(40)
})

test('a client that disconnects no longer says when it sends what waits', async () => {
  const { chat, clock, intercept, room } = await live()
  intercept(SENDS, () => page(503))
  room.messages.subscribe(() => {})
  await clock.forward(1)
  await until(room.messages, ready)
  room.send({ text: 'waits' })
  await quiet()
  const shown = () => room.messages.getSnapshot().items[0]
  expect(shown()?.waiting).toBeDefined()
  chat.disconnect()
  expect(shown()).toMatchObject({ status: 'pending', waiting: undefined })
})
