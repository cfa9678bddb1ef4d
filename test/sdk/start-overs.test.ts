import { Resources } from '@parley/client/internal/room/resources'
import { expect, test } from 'vitest'
import { isLive, isOffline, ready, until } from '../support/chat.ts'
import { scriptedChat } from '../support/scripted/index.ts'

const SYNC = /^POST \/api\/sync$/

/** A live room of one message. While the client is away more happens than a sync answers. */
async function opened() {
  const server = scriptedChat()
  const { chat, channel, cut, mend, loseEvents, intercept } = server
  const talk = channel('c')
  talk.send('1')
  const room = chat.channel('c')
  const { messages } = room
  messages.subscribe(() => {})
  await chat.connect()
  await until(messages, ready)
  const goOffline = async () => {
    cut()
    await isOffline(chat)
    loseEvents()
  }
  const comeBack = () => {
    const changes = { c: { rev: talk.rev, channel: talk.record(), resync: true } }
    const answer = { channels: changes, more: false, settingsVersion: 0 }
    intercept(SYNC, () => Response.json(answer))
    mend()
    chat.wake()
  }
  return { ...server, talk, room, messages, goOffline, comeBack }
}

test('a change whose event was lost goes when its room starts over', async () => {
  const { chat, holdEvents, talk, room, messages, goOffline, comeBack } = await opened()
  holdEvents()
  await room.pin('c-0001')
  expect(messages.getSnapshot().items).toMatchObject([{ pinned: true }])
  await goOffline()
  talk.unpin('c-0001')
  comeBack()
  await isLive(chat)
  await until(messages, ready)
  expect(messages.getSnapshot().items).toMatchObject([{ pinned: false }])
})

test('a jump that fails while a room starts over leaves what is older within reach', async () => {
  const { hold, talk, messages, goOffline, comeBack } = await opened()
  await goOffline()
  for (let n = 2; n <= 63; n++) talk.send(`${n}`)
  const page = hold(/GET .*\/messages\?limit=50$/)
  const jump = hold(/GET .*\/messages\/c-0001$/)
  comeBack()
  await page.asked
  const jumped = messages.jumpTo('c-0001')
  await jump.asked
  const error = { code: 'NOT_FOUND', message: 'gone' }
  jump.release(Response.json({ error }, { status: 404 }))
  await expect(jumped).rejects.toMatchObject({ code: 'NOT_FOUND' })
  page.release()
  await until(messages, ready)
  expect(messages.getSnapshot().hasOlder).toBe(true)
})

test('a load that was given up and fails later reports no error', async () => {
  const resources = new Resources({
    loaderOf: () => async () => (state) => state,
    watched: () => [],
    canLoad: () => false,
    loadedStatus: () => 'ready',
    onLoaded: () => {},
    onChanged: () => {},
  })
  let fail = () => {}
  const loader = () =>
    new Promise<never>((_, reject) => {
      fail = () => reject(new Error('late'))
    })
  const load = resources.load('messages', loader)
  resources.abandonLoads()
  fail()
  expect(await load).toBeUndefined()
})
