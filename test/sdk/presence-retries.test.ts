import { expect, test } from 'vitest'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

test('users whose page failed are asked for again although another page came later', async () => {
  const clock = stoppedClock()
  const { chat, data, hold, refuseRequests } = scriptedChat()
  data.online.add('z')
  await chat.connect()
  refuseRequests(/^GET \/api\/users\?ids=z/, { status: 503, code: 'UNAVAILABLE' })
  const others = hold(/^GET \/api\/users\?ids=u0/)
  for (let n = 0; n < 100; n++) chat.presence(`u${n}`).subscribe(() => {})
  const z = chat.presence('z')
  z.subscribe(() => {})
  await others.asked
  for (let second = 0; second < 6; second++) await clock.forward(1_000)
  others.release()
  await quiet()
  refuseRequests()
  for (let second = 0; second < 60; second++) await clock.forward(1_000)
  expect(z.getSnapshot().isOnline).toBe(true)
})
