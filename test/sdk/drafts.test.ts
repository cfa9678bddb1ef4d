import { expect, test } from 'vitest'
import { scriptedChat } from '../support/scripted/index.ts'

test('a send leaves out fields of an application that are not part of a draft', async () => {
  const { chat, channel, bodies } = scriptedChat()
  channel('c')
  await chat.connect()
  const grown = { text: 'forwarded', streaming: true, note: 'of the application' }
  await chat.channel('c').send(grown).sent
  const body = bodies.get('POST /api/channels/c/messages')
  expect(body).toMatchObject({ text: 'forwarded' })
  expect(body).not.toHaveProperty('streaming')
  expect(body).not.toHaveProperty('note')
})
