import { expect, onTestFinished, test } from 'vitest'
import {
  chatOf,
  GROUP,
  isLive,
  isOffline,
  liveChatOf,
  ready,
  texts,
  until,
} from '../support/chat.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()

test.each(['refused', 'swallowed'] as const)(
  'where WebSockets are %s the client goes live over a stream, and loses nothing',
  async (fault) => {
    const ana = await world().user(`ana-${fault}`)
    const { id: channelId } = await ana.channels.create(GROUP)
    const { chat, proxy } = await chatOf(world(), ana.id)
    proxy.block(fault)
    await chat.connect()
    const room = chat.channel(channelId)
    const { messages } = room
    onTestFinished(room.watch())
    await until(messages, ready)
    await ana.messages.send({ channelId, text: 'first' })
    await until(messages, (list) => texts(list).includes('first'))
    proxy.cut()
    await isOffline(chat)
    await ana.messages.send({ channelId, text: 'meanwhile' })
    proxy.mend()
    await isLive(chat)
    await ana.messages.send({ channelId, text: 'later' })
    const shown = await until(messages, (list) => texts(list).includes('later'))
    expect(texts(shown)).toEqual(['first', 'meanwhile', 'later'])
    expect(proxy.opened.http_stream).toBeGreaterThan(1)
    expect(proxy.opened.sse).toBe(0)
  },
)

test('a client whose WebSocket has worked opens no stream, however often it is cut', async () => {
  const { chat, proxy } = await liveChatOf(world(), 'ben')
  for (let cut = 0; cut < 3; cut++) {
    proxy.cut()
    await isOffline(chat)
    proxy.mend()
    await isLive(chat)
  }
  expect(proxy.opened).toEqual({ http_stream: 0, sse: 0 })
})
