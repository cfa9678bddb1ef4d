import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { GROUP, isLive, isOffline, liveChatOf, ready, texts, until } from '../support/chat.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

test('an application may bring its own fetch and WebSocket, to cut off one client among many', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const network = { isOn: true, sockets: new Set<WebSocket>() }
  class Switched extends WebSocket {
    constructor(url: string, protocols?: string | string[]) {
      super(url, protocols)
      network.sockets.add(this)
      if (!network.isOn) this.terminate()
    }
  }
  const fetched = ((...given) => (network.isOn ? fetch(...given) : Promise.reject(new TypeError('switched off')))) as typeof fetch
  const { chat } = await liveChatOf(world(), 'ben', { fetch: fetched, webSocket: Switched as unknown as typeof globalThis.WebSocket }) // the same interface
  const room = chat.channel(channelId)
  room.watch()
  await until(room.messages, ready)
  network.isOn = false
  for (const socket of network.sockets) socket.terminate()
  await isOffline(chat)
  const out = room.send({ text: 'from here' })
  await expect(chat.api.channels.create({ ...GROUP })).rejects.toMatchObject({ code: 'NETWORK_ERROR' })
  await ana.messages.send({ channelId, text: 'from there' })
  network.isOn = true
  await isLive(chat)
  await out.sent
  expect(texts(await until(room.messages, (shown) => ready(shown) && shown.items.length === 2))).toEqual(['from there', 'from here'])
})
