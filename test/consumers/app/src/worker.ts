import { createChatClient } from '@parley/client'
import { fetchToken, settingsOf } from './settings.ts'

/** The parts of a service worker that are used: its types exclude those of pages. */
type ServiceWorker = {
  addEventListener(type: 'install', listener: () => void): void
  addEventListener(type: 'message', listener: (event: WorkerMessage) => void): void
  skipWaiting(): Promise<void>
}
type WorkerMessage = {
  data: { text: string }
  ports: readonly MessagePort[]
  waitUntil(done: Promise<unknown>): void
}
const worker = globalThis as unknown as ServiceWorker

worker.addEventListener('install', () => void worker.skipWaiting())
worker.addEventListener('message', (event) => {
  const [port] = event.ports
  const answer = reply(event.data.text).catch(String)
  event.waitUntil(answer.then((text) => port?.postMessage(text)))
})

/** Sends a message to the user's first group; resolves to the newest one, as its events say. */
async function reply(text: string): Promise<string> {
  const { userId, url } = settingsOf(location.href)
  const chat = createChatClient({ url, token: () => fetchToken(userId) })
  await chat.connect()
  const { channels } = await chat.api.channels.list({ type: 'group' })
  const received = new Promise<string>((resolve) => {
    chat.on('message.new', ({ payload }) => resolve(payload.message.text))
  })
  const room = chat.channel(channels[0]?.id ?? '')
  room.watch()
  await room.send({ text }).sent
  const newest = await received
  chat.disconnect()
  return newest
}
