import { expect, test } from 'vitest'
import { isLive } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'

test('messages are sent although the client was disconnected before its first token', async () => {
  const { scripted } = scriptedChat()
  let arrive = () => {}
  const arrived = new Promise<void>((resolve) => (arrive = resolve))
  const token = () => arrived.then(scripted.token)
  const { chat, channel } = scriptedChat({ token })
  channel('c')
  const ended = chat.connect().catch(({ code }) => code)
  chat.disconnect()
  expect(await ended).toBe('ABORTED')
  arrive()
  await quiet()
  await chat.connect()
  expect(await chat.channel('c').send({ text: 'hello' }).sent).toMatchObject({ text: 'hello' })
})

test('messages are sent although the client was disconnected as soon as it connected', async () => {
  const { chat, channel } = scriptedChat()
  channel('c')
  const ended = chat.connect().catch(({ code }) => code)
  chat.disconnect()
  void chat.connect()
  expect(await ended).toBe('ABORTED')
  await isLive(chat)
  expect(await chat.channel('c').send({ text: 'hello' }).sent).toMatchObject({ text: 'hello' })
})
