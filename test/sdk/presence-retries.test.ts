import { expect, test } from 'vitest'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

const LAST = /^GET \/api\/users\?ids=z/

test('users whose page failed are asked for again although another page came later', async () => {
  const clock = stoppedClock()
  const { chat, data, hold, refuseRequests, count } = scriptedChat()
  data.online.add('z')
  await chat.connect()
  refuseRequests(LAST, { status: 503, code: 'UNAVAILABLE' })
  const others = hold(/^GET \/api\/users\?ids=u0/)
  for (let n = 0; n < 100; n++) chat.presence(`u${n}`).subscribe(() => {})
  const z = chat.presence('z')
  z.subscribe(() => {})
  await clock.forward(250)
  await others.asked
  // The call has failed once all its attempts have: then it waits for its next turn.
  while (count(LAST) < 4) await clock.forward(100)
  others.release()
  await quiet()
  refuseRequests()
  for (let second = 0; second < 60; second++) await clock.forward(1_000)
  expect(z.getSnapshot().isOnline).toBe(true)
})

test('pauses are short again once what was missing has come', async () => {
  const clock = stoppedClock()
  const { chat, refuseRequests, count } = scriptedChat()
  await chat.connect()
  refuseRequests(/ids=ana/)
  const ana = chat.presence('ana')
  const stop = ana.subscribe(() => {})
  for (let second = 0; second < 60; second++) await clock.forward(1_000)
  refuseRequests()
  for (let second = 0; second < 30; second++) await clock.forward(1_000)
  stop()
  const before = count(/ids=ana/)
  refuseRequests(/ids=ana/)
  ana.subscribe(() => {})
  for (let second = 0; second < 4; second++) await clock.forward(1_000)
  expect(count(/ids=ana/) - before).toBeGreaterThan(2)
})

test('after a reconnect presence is asked for at once, whatever pause was left', async () => {
  const clock = stoppedClock()
  const { chat, data, cut, mend, refuseRequests } = scriptedChat()
  await chat.connect()
  refuseRequests(/ids=ana/)
  const ana = chat.presence('ana')
  ana.subscribe(() => {})
  for (let second = 0; second < 60; second++) await clock.forward(1_000)
  data.online.add('ana')
  refuseRequests()
  cut()
  await quiet()
  mend()
  chat.wake()
  await clock.forward(10)
  expect(ana.getSnapshot().isOnline).toBe(true)
})

test('after an outage the call for all rooms asks for 100 users, others for the rest', async () => {
  const clock = stoppedClock()
  const { chat, cut, mend, requests, bodies } = scriptedChat()
  await chat.connect()
  for (let n = 0; n < 250; n++) chat.presence(`u${n}`).subscribe(() => {})
  await clock.forward(250)
  cut()
  await quiet()
  requests.length = 0
  mend()
  chat.wake()
  await clock.forward(250)
  const asked = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => `u${from + index}`)
  expect(bodies.get('POST /api/sync')).toMatchObject({ userIds: asked(0, 100) })
  for (const others of [asked(100, 200), asked(200, 250)])
    expect(requests).toContain(`GET /api/users?ids=${others.join('%2C')}`)
})
