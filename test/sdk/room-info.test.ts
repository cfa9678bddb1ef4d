import { expect, test } from 'vitest'
import { ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'

const SYNC = /^POST \/api\/sync$/
const ID = '01234567-89ab-7cde-8f01-23456789abcd'

test('a record that is shown, hidden and shown again while it loads is loaded once', async () => {
  const { chat, channel, hold, count } = scriptedChat()
  channel(ID)
  await chat.connect()
  const before = count(SYNC)
  const sync = hold(SYNC)
  const { info } = chat.channel(ID)
  const hide = info.subscribe(() => {})
  await sync.asked
  hide()
  info.subscribe(() => {})
  expect(info.getSnapshot()).toEqual({ channel: undefined, status: 'loading' })
  sync.release()
  await until(info, ready)
  await quiet()
  expect(count(SYNC) - before).toBe(1)
})

test('a record that was refused is not asked for again each time it is shown', async () => {
  const { chat, channel, refuseRequests, count } = scriptedChat()
  const refused = /^GET .*\/refused$/
  channel(ID)
  await chat.connect()
  refuseRequests(refused, { status: 404, code: 'NOT_FOUND' })
  const { info } = chat.channel('refused')
  const hide = info.subscribe(() => {})
  await until(info, ({ status }) => status === 'failed')
  hide()
  info.subscribe(() => {})
  // A record that is shown after it is loaded after it.
  const later = chat.channel(ID).info
  later.subscribe(() => {})
  await until(later, ready)
  await quiet()
  expect(count(refused)).toBe(1)
  expect(info.getSnapshot()).toMatchObject({ status: 'failed', error: { code: 'NOT_FOUND' } })
})

test('a listener of a record is called when a list has news of it, and only then', async () => {
  const { chat, channel, emitSettings } = scriptedChat()
  for (const id of ['c', 'other']) channel(id)
  await chat.connect()
  const list = chat.channels()
  await until(list, ready)
  const { info } = chat.channel('c')
  let calls = 0
  info.subscribe(() => {
    calls += 1
  })
  emitSettings('other', { starred: true, muted: false })
  await quiet()
  expect(calls).toBe(0)
  emitSettings('c', { starred: true, muted: false })
  await quiet()
  expect(calls).toBe(1)
  expect(info.getSnapshot().channel?.starred).toBe(true)
})

test('an id that no message can have is not in the call that loads other rooms', async () => {
  const { chat, channel, bodies } = scriptedChat()
  channel('c')
  await chat.connect()
  const room = chat.channel('c')
  const threads = ['nonsense', ID].map((id) => room.thread(id))
  for (const thread of threads) thread.subscribe(() => {})
  const hasEnded = ({ status }: { status: string }) => ['ready', 'failed'].includes(status)
  await Promise.all(threads.map((thread) => until(thread, hasEnded)))
  expect(bodies.get('POST /api/sync')).toMatchObject({ pages: ['c'], threads: [ID] })
})
