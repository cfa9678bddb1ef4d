import { expect, test } from 'vitest'
import { isLive, isOffline, ready, texts, until } from '../support/chat.ts'
import { scriptedChat } from '../support/scripted/index.ts'

const PAGE = /POST \/api\/sync$/
const FORBIDDEN = { status: 403, code: 'FORBIDDEN' }

/** A client that watches a room of 400 messages. */
function watching() {
  const server = scriptedChat()
  const talk = server.channel('c')
  for (let count = 1; count <= 400; count++) talk.send(`${count}`)
  const { messages } = server.chat.channel('c')
  messages.subscribe(() => {})
  void server.chat.connect()
  return { ...server, messages }
}

test('a return to the newest messages that fails leaves the list as it is', async () => {
  const { chat, messages, refuseRequests, cut, mend } = watching()
  await until(messages, ready)
  await isLive(chat)
  for (let page = 0; page < 5; page++) await messages.loadOlder()
  const shown = texts(messages.getSnapshot())
  expect(shown).toHaveLength(300)
  refuseRequests(PAGE, FORBIDDEN)
  await expect(messages.jumpToLatest()).rejects.toMatchObject({ code: 'FORBIDDEN' })
  expect(messages.getSnapshot().status).toBe('ready')
  refuseRequests()
  cut()
  await isOffline(chat)
  mend()
  chat.wake()
  await isLive(chat)
  await until(messages, ready)
  expect(texts(messages.getSnapshot())).toEqual(shown)
})

test('a return to the newest messages loads a list that has failed', async () => {
  const { messages, refuseRequests } = watching()
  refuseRequests(PAGE, FORBIDDEN)
  await until(messages, ({ status }) => status === 'failed')
  refuseRequests()
  await messages.jumpToLatest()
  expect(messages.getSnapshot().status).toBe('ready')
  expect(texts(messages.getSnapshot())).toHaveLength(50)
})
