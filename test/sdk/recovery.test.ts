import type { ChatClient } from '@parley/client'
import { expect, onTestFinished, test } from 'vitest'
import { GROUP, isLive, isOffline, liveChatOf, ready, texts, until } from '../support/chat.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

/** A fetch that holds back the responses to some requests, once they came, until it is released. */
function holding(isHeld: (request: string) => boolean) {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let caught = () => {}
  const isCaught = new Promise<void>((resolve) => {
    caught = resolve
  })
  const held = (async (url, options) => {
    const response = await fetch(url, options)
    if (!isHeld(`${options?.method} ${url}`)) return response
    // To its end: what is still on its way would be lost when the network is cut.
    const text = await response.text()
    caught()
    await released
    const { status, headers } = response
    return new Response(text, { status, headers })
  }) as typeof fetch
  return { fetch: held, isCaught, release }
}
/** A new epoch: past events cannot be recovered any more. */
const loseEvents = () => world().db`
  update service
  set value = value || 'x'
  where key = 'epoch'`

/** Everything that a room shows, with one thread. */
async function shown(chat: ChatClient, channelId: string, rootId: string) {
  const room = chat.channel(channelId)
  const thread = room.thread(rootId)
  const stores = [room.messages, room.members, room.pins, room.reads, thread]
  const stops = [room.watch(), ...stores.map((store) => store.subscribe(() => {}))]
  await Promise.all([
    until(room.messages, ready),
    until(room.members, ready),
    until(room.pins, ready),
    until(thread, ready),
  ])
  await until(
    room.reads,
    ({ byUser }) => Object.keys(byUser).length === room.members.getSnapshot().items.length,
  )
  onTestFinished(() => {
    for (const stop of stops) stop()
  })
  return {
    messages: room.messages.getSnapshot(),
    members: room.members
      .getSnapshot()
      .items.map(({ userId, role }) => `${userId} ${role}`)
      .sort(),
    pins: room.pins.getSnapshot().items,
    reads: Object.fromEntries(
      Object.entries(room.reads.getSnapshot().byUser).map(([userId, { lastReadSeq }]) => [
        userId,
        lastReadSeq,
      ]),
    ),
    thread: thread.getSnapshot(),
  }
}

test('after missing too much a client emits resync and shows what a fresh one loads', async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const send = async (text: string, parentId?: string) =>
    (await ana.messages.send({ channelId, text, ...(parentId ? { parentId } : {}) })).id
  const ids = {
    root: await send('root'),
    edited: await send('edited'),
    deleted: await send('deleted'),
    pinned: await send('pinned'),
  }
  const reply = await send('reply', ids.root)
  await ana.pins.pin({ channelId, messageId: ids.edited })
  const { chat, proxy } = await liveChatOf(world(), 'ben')
  await shown(chat, channelId, ids.root)
  const resynced: string[][] = []
  chat.on('resync', ({ channelIds }) => resynced.push(channelIds))
  const lengths = new Set<number>()
  const { messages } = chat.channel(channelId)
  messages.subscribe(() => lengths.add(messages.getSnapshot().items.length))

  proxy.cut()
  await isOffline(chat)
  for (const half of ['a', 'b']) {
    const users = Array.from({ length: 1_000 }, (_, n) => ({ id: `${half}${n}` }))
    await world().backend.users.sync({ users })
    await ana.members.add({ channelId, userIds: users.map(({ id }) => id) })
  }
  await ana.messages.edit({ channelId, messageId: ids.edited, text: 'changed' })
  await ana.messages.delete({ channelId, messageId: ids.deleted })
  await ana.messages.delete({ channelId, messageId: reply })
  await ana.pins.unpin({ channelId, messageId: ids.edited })
  await ana.pins.pin({ channelId, messageId: ids.pinned })
  await send('another reply', ids.root)
  await ben.reads.mark({ channelId })
  await loseEvents()
  proxy.mend()
  await isLive(chat)
  await until(messages, (shown) => ready(shown) && texts(shown).includes('changed'))
  const { chat: fresh } = await liveChatOf(world(), 'ben')
  const expected = await shown(fresh, channelId, ids.root)
  expect(expected.members).toHaveLength(2_002)
  await expect.poll(() => shown(chat, channelId, ids.root)).toEqual(expected)
  expect(resynced).toEqual([[channelId]])
  expect(lengths).not.toContain(0)
})

test('a first page requested before an outage and received after it leaves no gap', async () => {
  const [ana] = await world().users('ana', 'cem')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['cem'] })
  await ana.messages.send({ channelId, text: 'before' })
  let pages = 0
  const { fetch, isCaught, release } = holding(
    (request) => request.endsWith('/api/sync') && ++pages === 2,
  )
  const { chat, proxy } = await liveChatOf(world(), 'cem', { fetch })
  // The first call was for the total.
  const room = chat.channel(channelId)
  room.watch()
  onTestFinished(room.messages.subscribe(() => {}))
  await isCaught
  proxy.cut()
  await isOffline(chat)
  await ana.messages.send({ channelId, text: 'meanwhile' })
  await loseEvents()
  proxy.mend()
  await isLive(chat)
  release()
  const shown = await until(room.messages, (shown) => ready(shown) && shown.items.length === 2)
  expect(texts(shown)).toEqual(['before', 'meanwhile'])
})

test('a reaction sent again after another device removed it shows as it is stored', async () => {
  const [ana, dora] = await world().users('ana', 'dora')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['dora'] })
  const { id: messageId } = await ana.messages.send({ channelId, text: 'like me' })
  const { fetch, isCaught, release } = holding(
    (request) => request.startsWith('POST') && request.endsWith('/reactions'),
  )
  const { chat, proxy } = await liveChatOf(world(), 'dora', { fetch })
  const room = chat.channel(channelId)
  room.watch()
  await until(room.messages, ready)
  proxy.deaden()
  const reacted = room.react(messageId, '👍')
  await isCaught
  proxy.cut()
  await isOffline(chat)
  await dora.reactions.remove({ channelId, messageId, emoji: '👍' })
  await loseEvents()
  proxy.mend()
  await isLive(chat)
  await until(room.messages, ready)
  release()
  await reacted
  // The lost call was made once more, after the removal.
  await until(room.messages, ({ items }) => items[0]?.reactions[0]?.own === true)
  expect((await dora.messages.get({ channelId, messageId })).reactions).toMatchObject([
    { type: '👍', count: 1, own: true },
  ])
})

test('nothing loaded while offline is shown as live', async () => {
  const [ana] = await world().users('ana', 'eve')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['eve'] })
  for (let n = 0; n < 60; n++) await ana.messages.send({ channelId, text: `${n}` })
  const { fetch, isCaught, release } = holding((request) => request.includes('before='))
  const { chat, proxy } = await liveChatOf(world(), 'eve', { fetch })
  const room = chat.channel(channelId)
  room.watch()
  await until(room.messages, ready)
  const older = room.messages.loadOlder()
  await isCaught
  proxy.cut()
  await isOffline(chat)
  release()
  await older
  const { items, status } = room.messages.getSnapshot()
  expect([items.length, status]).toEqual([60, 'stale'])
  proxy.mend()
  await isLive(chat)
  await until(room.messages, ready)
})
