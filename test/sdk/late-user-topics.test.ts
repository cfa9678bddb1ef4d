import { expect, test } from 'vitest'
import { isLive } from '../support/chat.ts'
import { scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** The user's own topic, when the server confirms it late. */

const TOPIC = 'user:app:me'

test('a channel added before the topic of a client that catches up is listed', async () => {
  const clock = stoppedClock()
  const { chat, channel, hold, refuseForNow, topics } = scriptedChat()
  channel('one')
  const list = chat.channels()
  list.subscribe(() => {})
  const allow = refuseForNow(TOPIC)
  const page = hold(/GET \/api\/channels\?/)
  void chat.connect()
  await clock.forward(6_000)
  await page.asked
  channel('two')
  allow()
  while (!topics().includes(TOPIC)) await clock.forward(500)
  expect(chat.connection.getSnapshot().status).toBe('catching-up')
  page.release()
  await isLive(chat)
  expect(list.getSnapshot().items.map(({ id }) => id)).toContain('two')
})
