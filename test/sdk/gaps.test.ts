import { expect, test } from 'vitest'
import { isLive, isOffline, ready, texts, until } from '../support/chat.ts'
import { type ScriptedChat, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/**
 * Shows a room, until `leave` is called, and cuts its client off: what happens from now on is
 * missed.
 */
async function missEvents(
  { chat, cut, loseEvents }: ScriptedChat,
  clock?: ReturnType<typeof stoppedClock>,
) {
  const { messages } = chat.channel('c')
  const leave = messages.subscribe(() => {})
  const connected = chat.connect()
  await clock?.forward(10)
  await connected
  await until(messages, ready)
  cut()
  await isOffline(chat)
  loseEvents()
  return { messages, leave }
}

/** Reconnects while the answer about the gap is held back. */
async function holdCatchUp({ chat, mend, hold }: ScriptedChat) {
  const sync = hold(/^POST \/api\/sync$/)
  mend()
  chat.wake()
  await sync.asked
  return sync
}

type Returning = ScriptedChat & { clock: ReturnType<typeof stoppedClock> }

/** Loses the connection for a moment, after which the room is shown again. */
async function returnAgain({ chat, cut, clock }: Returning) {
  cut({ isCut: false })
  await isOffline(chat)
  chat.wake()
  await clock.forward(10)
  await until(chat.channel('c').messages, ready)
}

test('a long gap is filled by as many answers as it takes', async () => {
  const scripted = scriptedChat()
  const { chat, channel } = scripted
  const talk = channel('c')
  talk.send('1')
  const { messages } = await missEvents(scripted)
  for (const text of ['2', '3']) talk.send(text)
  const sync = await holdCatchUp(scripted)
  const second = talk.find('c-0002')
  const part = { rev: second.rev, channel: talk.record(), messages: [second], more: true }
  sync.release(Response.json({ channels: { c: part }, more: true, settingsVersion: 0 }))
  await isLive(chat)
  expect(texts(messages.getSnapshot())).toEqual(['1', '2', '3'])
})

test('a reader who is no member is shown what they missed', async () => {
  const scripted = scriptedChat()
  const { chat, channel, mend, intercept } = scripted
  const talk = channel('c')
  talk.send('1')
  const { id } = talk.send('deleted')
  // The sync of older servers answered only members with the changes of a channel.
  const answer = { channels: { c: { removed: true } }, more: false, settingsVersion: 0 }
  intercept(/^POST \/api\/sync$/, () => Response.json(answer))
  const { messages } = await missEvents(scripted)
  talk.delete(id)
  talk.send('2')
  mend()
  chat.wake()
  await isLive(chat)
  await until(messages, (shown) => ready(shown) && texts(shown).join() === '1,2', 5_000)
})

test('a room that was left before its gap was filled has no gap later', async () => {
  const clock = stoppedClock()
  const scripted = scriptedChat()
  const { chat, channel } = scripted
  const talk = channel('c')
  talk.send('1')
  const { messages, leave } = await missEvents(scripted, clock)
  talk.send('2')
  const sync = await holdCatchUp(scripted)
  talk.send('3')
  leave()
  await clock.forward(2_000)
  sync.release()
  await isLive(chat)
  expect(messages.getSnapshot()).toMatchObject({ status: 'stale', items: [{ text: '1' }, {}] })
  messages.subscribe(() => {})
  await clock.forward(10)
  expect(texts(await until(messages, ready))).toEqual(['1', '2', '3'])
})

test('a room that started over after a gap keeps its newest page when it is left', async () => {
  const clock = stoppedClock()
  const scripted = scriptedChat()
  const { chat, channel, mend, intercept, refuseRequests } = scripted
  const talk = channel('c')
  talk.send('1')
  const { messages, leave } = await missEvents(scripted, clock)
  talk.send('2')
  const answer = { channels: { c: { removed: true } }, more: false, settingsVersion: 0 }
  intercept(/^POST \/api\/sync$/, () => Response.json(answer))
  mend()
  chat.wake()
  await clock.forward(10)
  refuseRequests()
  await clock.forward(60_000)
  await until(messages, ready)
  leave()
  await clock.forward(2_000)
  expect(texts(messages.getSnapshot())).toEqual(['1', '2'])
})

test('a room that missed too much during its gap is loaded once, not at each return', async () => {
  const clock = stoppedClock()
  const scripted = scriptedChat()
  const { chat, channel, bodies } = scripted
  const talk = channel('c')
  talk.send('1')
  const { messages, leave } = await missEvents(scripted, clock)
  talk.send('2')
  const sync = await holdCatchUp(scripted)
  leave()
  await clock.forward(2_000)
  sync.release()
  await isLive(chat)
  for (let n = 3; n <= 2_003; n++) talk.send(`${n}`)
  messages.subscribe(() => {})
  await clock.forward(10)
  await until(messages, ready)
  await returnAgain({ ...scripted, clock })
  expect(bodies.get('POST /api/sync')).toHaveProperty('pages', [])
  expect(texts(messages.getSnapshot()).at(-1)).toBe('2003')
})

test('a gap that grew too large while its request waited holds up nothing', async () => {
  const clock = stoppedClock()
  const scripted = scriptedChat()
  const { chat, channel, cut, mend, refuseRequests, intercept } = scripted
  const talk = channel('c')
  talk.send('1')
  const { messages } = await missEvents(scripted, clock)
  talk.send('2')
  refuseRequests(/^POST \/api\/sync$/, { status: 503, code: 'UNAVAILABLE' })
  mend()
  chat.wake()
  await clock.forward(10)
  cut()
  await isOffline(chat)
  await clock.forward(20_000)
  for (let n = 3; n <= 2_003; n++) talk.send(`${n}`)
  const changes = { c: { rev: talk.rev, channel: talk.record(), resync: true } }
  const answer = { channels: changes, more: false, settingsVersion: 0 }
  intercept(/^POST \/api\/sync$/, () => Response.json(answer))
  mend()
  chat.wake()
  await clock.forward(60_000)
  expect(chat.connection.getSnapshot().status).toBe('live')
  expect(texts(messages.getSnapshot()).at(-1)).toBe('2003')
})

test('a gap is forgotten with the messages that the user may not read any more', async () => {
  const clock = stoppedClock()
  const scripted = scriptedChat()
  const { channel, refuse, allow, emit, bodies } = scripted
  const talk = channel('c')
  talk.send('1')
  const { messages } = await missEvents(scripted, clock)
  talk.send('2')
  const sync = await holdCatchUp(scripted)
  refuse('chat:app:c')
  sync.release()
  await clock.forward(10)
  allow('chat:app:c')
  emit('channel.added', { channel: talk.record() })
  await clock.forward(10)
  await until(messages, ready)
  await returnAgain({ ...scripted, clock })
  expect(bodies.get('POST /api/sync')).toMatchObject({ channels: { c: 2_147_483_647 } })
})
