import { createChatClient, memoryStorage } from '@parley/client'
import { WebSocket } from '@parley/client/internal/realtime/websocket.node'
import { createSnapshots, type SnapshotStorage } from '@parley/client/snapshots'
import { expect, onTestFinished, test } from 'vitest'
import { chatOf, GROUP, isLive, isOffline, ready, texts, until } from '../support/chat.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()

/** The snapshots of one user, in memory. */
function memorySnapshots(): SnapshotStorage & { rows: Map<string, object> } {
  const rows = new Map<string, object>()
  return {
    rows,
    load: async () => [...rows].map(([key, value]) => ({ key, value })),
    put: async (_, key, value) => void rows.set(key, value),
    delete: async (_, key) => void rows.delete(key),
  }
}

/** A WebSocket that holds back events, once `hold` was called, until they are released. */
function holdingEvents() {
  let held: (() => void)[] | undefined
  const webSocket = new Proxy(WebSocket, {
    construct: (target, [url]) => {
      const socket = new target(url)
      const set = (listener: (event: { data: string }) => void) =>
        socket.addEventListener('message', (event) => {
          if (held && event.data.includes('"pub"')) held.push(() => listener(event))
          else listener(event)
        })
      return Object.defineProperty(socket, 'onmessage', { set })
    },
  })
  return {
    webSocket,
    hold: () => {
      held = []
    },
    release: () => {
      const events = held ?? []
      held = undefined
      for (const deliver of events) deliver()
    },
  }
}

test('changes made offline, before a reload, do not flicker when they are sent', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const ids: string[] = []
  for (const text of ['liked', 'pinned', 'deleted', 'last'])
    ids.push((await ana.messages.send({ channelId, text })).id)
  const [liked = '', pinned = '', deleted = ''] = ids
  const storage = memoryStorage()
  const rows = memorySnapshots()
  const snapshots = createSnapshots(rows, { intervalMs: 0 })
  const options = { userId: 'ana', storage, snapshots }
  const first = await chatOf(world(), 'ana', options)
  const { proxy, mint } = first
  const before = first.chat.channel(channelId)
  before.watch()
  await first.chat.connect()
  await until(before.messages, ready)
  await expect.poll(() => [...rows.rows.keys()]).toContain(`room ${channelId}`)
  proxy.cut()
  await isOffline(first.chat)
  for (const change of [before.react(liked, '👍'), before.pin(pinned), before.delete(deleted)])
    change.catch(() => {})
  const stored = () => storage.load(`${proxy.url} ${world().appId}:ana`)
  await expect.poll(stored).toHaveLength(3)
  first.chat.disconnect()

  const { webSocket, hold, release } = holdingEvents()
  const chat = createChatClient({ url: proxy.url, token: mint, webSocket, ...options })
  onTestFinished(() => chat.disconnect())
  chat.connect().catch(() => {})
  await isOffline(chat)
  const { messages } = chat.channel(channelId)
  const shown = () => {
    const { items } = messages.getSnapshot()
    const own = items.map(({ text, pinned, reactions }) => [text, pinned, reactions.length])
    return JSON.stringify(own)
  }
  const expected = JSON.stringify([
    ['liked', false, 1],
    ['pinned', true, 0],
    ['last', false, 0],
  ])
  const seen = new Set<string>()
  messages.subscribe(() => seen.add(shown()))
  await until(messages, ({ items }) => items.length > 0)
  expect(shown()).toBe(expected)
  seen.clear()
  hold()
  proxy.mend()
  chat.wake()
  await isLive(chat)
  await expect.poll(stored).toEqual([])
  expect([...seen]).toEqual([expected])
  release()
  await expect.poll(shown).toBe(expected)
  expect([...seen]).toEqual([expected])
})

test('stored messages without replies are shown as stale, and loaded once connected', async () => {
  const [cem] = await world().users('cem', 'dan')
  const { id: channelId } = await cem.channels.create({ ...GROUP, memberIds: ['dan'] })
  await cem.messages.send({ channelId, text: 'first' })
  const { id: parentId } = await cem.messages.send({ channelId, text: 'root' })
  await cem.messages.send({ channelId, text: 'reply', parentId })
  const rows = memorySnapshots()
  const snapshots = createSnapshots(rows, { intervalMs: 0, messages: 2 })
  const options = { userId: 'cem', storage: memoryStorage(), snapshots }
  const { chat: first, proxy, mint } = await chatOf(world(), 'cem', options)
  first.channel(channelId).watch()
  await first.connect()
  await expect.poll(() => [...rows.rows.keys()]).toContain(`room ${channelId}`)
  proxy.cut()
  first.disconnect()

  const chat = createChatClient({ url: proxy.url, token: mint, ...options })
  onTestFinished(() => chat.disconnect())
  const roots = chat.channel(channelId).messages({ replies: false })
  roots.subscribe(() => {})
  chat.connect().catch(() => {})
  const stored = await until(roots, ({ items }) => items.length > 0)
  expect([texts(stored), stored.status]).toEqual([['root'], 'stale'])
  await cem.messages.send({ channelId, text: 'newer' })
  proxy.mend()
  chat.wake()
  expect(texts(await until(roots, ready))).toEqual(['first', 'root', 'newer'])
})
