import { expect, test } from 'vitest'
import { isOffline, texts } from '../support/chat.ts'
import { scriptedChat } from '../support/scripted/index.ts'
import { openAndLeave } from '../support/scripted/leave.ts'
import { stoppedClock } from '../support/scripted/time.ts'

test('roots of a room that was left are stale when it is opened without a network', async () => {
  const clock = stoppedClock()
  const { chat, channel, cut } = scriptedChat()
  channel('c').send('one')
  await chat.connect()
  const roots = chat.channel('c').messages({ replies: false })
  await openAndLeave(roots, clock)
  cut()
  await isOffline(chat)
  roots.subscribe(() => {})
  const shown = roots.getSnapshot()
  expect([texts(shown), shown.status]).toEqual([['one'], 'stale'])
})
