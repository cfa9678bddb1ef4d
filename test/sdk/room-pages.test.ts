import { expect, test } from 'vitest'
import { isOffline, ready, texts, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'

/** A client, and a room of some messages. */
function roomOf(count = 3) {
  const scene = scriptedChat()
  const talk = scene.channel('c')
  for (let n = 1; n <= count; n++) talk.send(`${n}`)
  const room = scene.chat.channel('c')
  return { ...scene, talk, room }
}

test('all pages of pins are loaded, and one that moved is listed once', async () => {
  const { chat, talk, room, intercept, requests } = roomOf()
  for (const { id } of talk.messages) talk.pin(id)
  const [one, two, three] = talk.messages.map((message) => ({
    ...message,
    pinnedBy: 'ana',
    pinnedAt: message.createdAt,
  }))
  const pages: object[] = [{ messages: [one, two], more: true }, { messages: [two, three] }]
  intercept(/\/pins/, () => Response.json(pages.shift()))
  room.pins.subscribe(() => {})
  await chat.connect()
  const { items } = await until(room.pins, (pins) => ready(pins) && pins.items.length > 0)
  expect(texts({ items })).toEqual(['1', '2', '3'])
  const offsets = requests.flatMap((request) => /pins\?offset=(\d+)/.exec(request)?.[1] ?? [])
  expect(offsets).toEqual(['0', '2'])
})

test('a jump and older pages among roots contain as many roots as without replies', async () => {
  const { chat, talk, room } = roomOf(1)
  for (let n = 2; n <= 200; n++) {
    talk.send(`root ${n}`)
    talk.send('reply', { parentId: 'c-0001' })
  }
  room.watch()
  const roots = room.messages({ replies: false })
  roots.subscribe(() => {})
  await chat.connect()
  await until(roots, ready)
  const { id } = talk.messages.find(({ text }) => text === 'root 100') ?? { id: '' }
  await roots.jumpTo(id)
  const around = texts(roots.getSnapshot())
  expect([around.length, around[25]]).toEqual([51, 'root 100'])
  await roots.loadOlder()
  expect(texts(roots.getSnapshot())).toHaveLength(101)
})

test('a thread whose first message is gone shows its replies', async () => {
  const { chat, talk, room, refuseRequests } = roomOf()
  talk.send('reply', { parentId: 'c-0001' })
  talk.delete('c-0001')
  refuseRequests(/^GET .*\/messages\/c-0001$/, { status: 404, code: 'NOT_FOUND' })
  await chat.connect()
  const thread = room.thread('c-0001')
  thread.subscribe(() => {})
  const { items, parent, error } = await until(
    thread,
    (snapshot) => snapshot.error !== undefined || ready(snapshot),
  )
  expect([texts({ items }), parent, error]).toEqual([['reply'], undefined, undefined])
})

test('the first message of a thread is asked for only if the room has not loaded it', async () => {
  const { chat, channel, count } = scriptedChat()
  const talk = channel('c')
  for (let n = 1; n <= 60; n++) talk.send(`${n}`)
  for (const parentId of ['c-0001', 'c-0060']) talk.send('reply', { parentId })
  await chat.connect()
  const room = chat.channel('c')
  await until(room.messages, ready)
  for (const [parentId, calls] of [
    ['c-0060', 0],
    ['c-0001', 1],
  ] as const) {
    const thread = room.thread(parentId)
    thread.subscribe(() => {})
    expect((await until(thread, ready)).parent?.id).toBe(parentId)
    expect(count(/^GET .*\/messages\/[^/]+$/)).toBe(calls)
  }
})

test('a message pinned while the pins load is listed although the answer lacks it', async () => {
  const { chat, talk, room, hold } = roomOf()
  talk.pin('c-0001')
  const loading = hold(/\/pins/)
  room.pins.subscribe(() => {})
  await chat.connect()
  await loading.asked
  talk.pin('c-0002')
  await quiet()
  loading.release()
  await until(room.pins, ({ items }) => texts({ items }).join() === '2,1')
})

test('an older page that is asked for twice at once is requested once', async () => {
  const { chat, room, count } = roomOf(120)
  room.messages.subscribe(() => {})
  await chat.connect()
  await until(room.messages, ready)
  await Promise.all([room.messages.loadOlder(), room.messages.loadOlder()])
  expect(count(/&before=/)).toBe(1)
  expect(texts(room.messages.getSnapshot())).toHaveLength(100)
})

test('messages that the user has paged to stay when another comes, however many', async () => {
  const { chat, talk, room } = roomOf(1_100)
  room.messages.subscribe(() => {})
  await chat.connect()
  await until(room.messages, ready)
  while (room.messages.getSnapshot().hasOlder) await room.messages.loadOlder()
  talk.send('new')
  await quiet()
  expect(texts(room.messages.getSnapshot())).toHaveLength(1_101)
})

test('a room that missed too much shows the newest page, after a jump, too', async () => {
  const { chat, talk, room, intercept, cut, mend, loseEvents } = roomOf(300)
  room.messages.subscribe(() => {})
  await chat.connect()
  await until(room.messages, ready)
  await room.messages.jumpTo('c-0100')
  const statuses: string[] = []
  room.messages.subscribe(() => statuses.push(room.messages.getSnapshot().status))
  const changes = { c: { resync: true, rev: talk.rev } }
  intercept(/POST \/api\/sync/, () => Response.json({ channels: changes, settingsVersion: 0 }))
  loseEvents()
  cut()
  await isOffline(chat)
  mend()
  chat.wake()
  const { items } = await until(room.messages, (shown) => texts(shown).at(-1) === '300')
  expect(items).toHaveLength(50)
  expect(statuses).not.toContain('loading')
})

test('a store that is only looked at loads, too', async () => {
  const { chat, room } = roomOf()
  room.watch()
  await chat.connect()
  expect(room.members.getSnapshot().items).toEqual([])
  await expect.poll(() => room.members.getSnapshot().items).toHaveLength(2)
})

test('a store that loads keeps its snapshot, whatever else happens in the room', async () => {
  const { chat, talk, room, hold } = roomOf()
  room.watch()
  await chat.connect()
  await until(room.messages, ready)
  const loads = [/members|sync/, /read-status|sync/, /pins/].map((path) => hold(path))
  const stores = [room.members, room.reads, room.pins]
  for (const store of stores) store.subscribe(() => {})
  await quiet()
  const before = stores.map((store) => store.getSnapshot())
  expect(before.map(({ status }) => status)).toEqual(['loading', 'loading', 'loading'])
  talk.send('4')
  await quiet()
  for (const [at, store] of stores.entries()) expect(store.getSnapshot()).toBe(before[at])
  for (const { release } of loads) release()
})

test('the first message of a thread stays above it while it is being deleted', async () => {
  const { chat, talk, room, holdEvents } = roomOf()
  talk.send('reply', { parentId: 'c-0001' })
  const thread = room.thread('c-0001')
  thread.subscribe(() => {})
  await chat.connect()
  await until(thread, ready)
  const releaseEvents = holdEvents()
  await room.delete('c-0001')
  expect(room.messages.getSnapshot().items.map(({ text }) => text)).not.toContain('1')
  expect(thread.getSnapshot().parent).toMatchObject({ text: '1', deletedAt: null })
  releaseEvents()
  expect(thread.getSnapshot().parent?.deletedAt).not.toBeNull()
})

test('the record in a room has no unread messages while they are being read', async () => {
  const { chat, room, data, hold } = roomOf()
  const own = data.channels.get('c')?.own
  if (own) own.unreadCount = 3
  for (const store of [room.messages, room.info, chat.channels()]) store.subscribe(() => {})
  await chat.connect()
  await until(room.info, ({ channel }) => channel?.unreadCount === 3)
  const answer = hold(/^POST .*\/read$/)
  const read = room.markRead()
  await answer.asked
  expect(room.info.getSnapshot().channel?.unreadCount).toBe(0)
  answer.release()
  await read
})

test('after a jump to one of the last messages new ones are shown', async () => {
  const { chat, talk, room } = roomOf(60)
  room.messages.subscribe(() => {})
  await chat.connect()
  await until(room.messages, ready)
  await room.messages.jumpTo('c-0055')
  expect(room.messages.getSnapshot().hasNewer).toBe(false)
  talk.send('new')
  await until(room.messages, (shown) => texts(shown).at(-1) === 'new')
})

test('a page that was asked for before a rename shows the new name', async () => {
  const { chat, room, emit, hold } = roomOf(60)
  room.messages.subscribe(() => {})
  await chat.connect()
  await until(room.messages, ready)
  const page = hold(/messages\?.*before=/)
  const loaded = room.messages.loadOlder()
  await page.asked
  emit('user.updated', { user: { id: 'ana', name: 'Renamed', image: null } })
  await quiet()
  page.release()
  await loaded
  const names = room.messages.getSnapshot().items.map(({ user }) => user.name)
  expect([names.length, ...new Set(names)]).toEqual([60, 'Renamed'])
})
