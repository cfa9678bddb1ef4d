import { beforeEach, expect, test } from 'vitest'
import { askBounded, type Direction, walkBounded } from './support/bounded-answer.ts'
import { liveChatOf, ready, until } from './support/chat.ts'
import { upTo } from './support/events.ts'
import { createTalk, fillChannels, LARGE_CHANNELS, TALK_MESSAGES } from './support/large-answers.ts'
import { type User, useWorld } from './support/world.ts'

const world = useWorld()

type Page = { messages: { id: string; seq: number }[]; hasMore: boolean }
let ana: User
beforeEach(async () => {
  ana = await world().user('ana')
})

const ask = <T>(path: string, body?: object): Promise<T> => askBounded(world(), ana, { path, body })

const walk = (path: string, direction: Direction, start?: string) =>
  walkBounded(world(), ana, { path, direction, start })

test('a page of messages ends after a megabyte, and its cursor continues', async () => {
  const { channelId, rootId } = await createTalk(world(), ana)
  const path = `channels/${channelId}/messages`
  const older = await walk(path, 'before')
  expect(older.toReversed().flat()).toEqual(upTo(TALK_MESSAGES + 1))
  expect(older.map(({ length }) => length)).toEqual([25, 25, 11])
  expect((await walk(path, 'after', rootId)).flat()).toEqual(upTo(TALK_MESSAGES + 1, 2))
  const page = await ask<Page & { maxSeq: number }>(`${path}?since_seq=0&limit=200`)
  expect([page.messages.map(({ seq }) => seq), page.hasMore]).toEqual([upTo(26), true])
  expect(page.maxSeq).toBe(TALK_MESSAGES + 1)
})

test('a page of replies ends after a megabyte, and its cursor continues', async () => {
  const { channelId, rootId } = await createTalk(world(), ana)
  const path = `channels/${channelId}/messages/${rootId}/replies`
  const older = await walk(path, 'before')
  expect(older.toReversed().flat()).toEqual(upTo(TALK_MESSAGES + 1, 2))
  expect((await walk(path, 'after', rootId)).flat()).toEqual(upTo(TALK_MESSAGES + 1, 2))
})

test('a list of pins ends after a megabyte, and its offset continues', async () => {
  const { db, appId } = world()
  const { channelId } = await createTalk(world(), ana)
  await db`
    insert into pins (app_id, channel_id, message_id, pinned_by, pinned_at)
    select ${appId}, channel_id, id, 'ana', now() - seq * interval '1 minute'
    from messages
    where channel_id = ${channelId}`
  type Pins = Page & { more?: true }
  const pages: Pins[] = []
  for (let offset = 0; pages.at(-1)?.more ?? offset === 0; ) {
    const page = await ask<Pins>(`channels/${channelId}/pins?offset=${offset}`)
    pages.push(page)
    offset += page.messages.length
  }
  expect(pages.map(({ messages }) => messages.length)).toEqual([26, 25, 10])
  expect(pages.flatMap(({ messages }) => messages.map(({ seq }) => seq))).toEqual(
    upTo(TALK_MESSAGES + 1),
  )
  const { chat } = await liveChatOf(world(), ana.id)
  const room = chat.channel(channelId)
  room.watch()
  const list = await until(room.pins, ready)
  expect(list.items).toHaveLength(TALK_MESSAGES + 1)
})

type Listed = { channels: { id: string; lastMessage: object | null }[]; more?: true }

test('a page of channels ends after a megabyte, and says that more follow', async () => {
  ana = await world().user('lister')
  const ids = await fillChannels(world(), 'lister')
  const listed: Listed['channels'] = []
  const counts: number[] = []
  for (let more: true | undefined = true; more; ) {
    const page = await ask<Listed>(`channels?limit=100&offset=${listed.length}`)
    counts.push(page.channels.length)
    listed.push(...page.channels)
    more = page.more
  }
  expect(listed.map(({ id }) => id)).toEqual(ids)
  expect(listed.every(({ lastMessage }) => lastMessage !== null)).toBe(true)
  expect(counts).toEqual([23, 17])
  const few = await ask<Listed>('channels?limit=3')
  expect([few.channels.length, few.more]).toEqual([3, true])
  const rest = await ask<Listed>(`channels?limit=3&offset=${LARGE_CHANNELS - 3}`)
  expect([rest.channels.length, rest.more]).toEqual([3, undefined])
  const ofApp = await world().backend.channels.list({ limit: 100 })
  expect(ofApp.channels.length).toBeLessThan(LARGE_CHANNELS)
  expect(ofApp.more).toBe(true)
})

test('channels without messages count towards the size of a page, too', async () => {
  ana = await world().user('quiet')
  const ids = await fillChannels(world(), 'quiet')
  const { appId, db } = world()
  const empty = ids.slice(20)
  await db`
    delete from messages
    where app_id = ${appId}
      and channel_id = any(${empty}::uuid[])`
  await db`
    update channels
    set last_seq = 0, custom = jsonb_build_object('words', repeat('x', 8000))
    where app_id = ${appId}
      and id = any(${empty}::uuid[])`
  const first = await ask<Listed>('channels?limit=100')
  expect(first.channels.length).toBeGreaterThan(20)
  const rest = await ask<Listed>(`channels?limit=100&offset=${first.channels.length}`)
  expect([first.more, rest.more]).toEqual([true, undefined])
  expect([...first.channels, ...rest.channels].map(({ id }) => id)).toEqual(ids)
})

test('a page ends early if its texts are longer as JSON than stored, and more follow', async () => {
  ana = await world().user('escaped')
  const ids = await fillChannels(world(), 'escaped')
  const { appId, db } = world()
  await db`
    update messages
    set text = repeat(chr(1), 8000)
    where app_id = ${appId}
      and channel_id = any(${ids}::uuid[])`
  const first = await ask<Listed>('channels?limit=100')
  const rest = await ask<Listed>(`channels?limit=100&offset=${first.channels.length}`)
  expect(first.more).toBe(true)
  expect([...first.channels, ...rest.channels].map(({ id }) => id)).toEqual(
    ids.slice(0, first.channels.length + rest.channels.length),
  )
})

test("a client's list shows all channels, however few an answer has room for", async () => {
  await world().user('reader')
  const ids = await fillChannels(world(), 'reader')
  const { chat } = await liveChatOf(world(), 'reader')
  const shown = await until(
    chat.channels(),
    (list) => ready(list) && list.items.length === LARGE_CHANNELS,
  )
  expect(shown.items.map(({ id }) => id)).toEqual(ids)
  expect(shown.hasMore).toBe(false)
})

type Changes = {
  removed?: true
  more?: true
  rev: number
  channel?: object
  messages: { seq: number; rev: number; channelId: string }[]
}
type Synced = { channels: Record<string, Changes>; more: boolean }

/** Asks again for the channels that have more; the changes of all answers. */
async function syncAll(start: Record<string, number>) {
  const messages: Changes['messages'] = []
  const records: string[] = []
  const removed: string[] = []
  let known = start
  for (let more = true; more; ) {
    const answer = await ask<Synced>('sync', { channels: known })
    const changes = Object.entries(answer.channels)
    for (const [id, each] of changes) {
      if (each.removed) removed.push(id)
      else messages.push(...each.messages)
      if (each.channel) records.push(id)
    }
    known = Object.fromEntries(
      changes.filter(([, each]) => each.more).map(([id, each]) => [id, each.rev]),
    )
    more = answer.more
    expect(Object.keys(known).length > 0).toBe(more)
  }
  return { messages, records, removed }
}

test('a sync answer has at most a megabyte of messages, and the next bring the rest', async () => {
  const talks = [await createTalk(world(), ana), await createTalk(world(), ana)]
  const start = Object.fromEntries(talks.map(({ channelId, rev }) => [channelId, rev]))
  const { messages } = await syncAll(start)
  for (const { channelId } of talks) {
    const seqs = messages.filter((each) => each.channelId === channelId).map(({ seq }) => seq)
    expect(seqs).toEqual(upTo(TALK_MESSAGES + 1, 2))
  }
})

test('messages of one rev come in one sync answer', async () => {
  const { channelId, rev } = await createTalk(world(), ana)
  const { channels } = await ask<Synced>('sync', { channels: { [channelId]: rev } })
  const changes = channels[channelId]
  // By their texts alone, 26 would have room. The last of these shares its rev with the next.
  expect(changes?.messages.map((each) => each.seq)).toEqual(upTo(25, 2))
  expect(changes?.rev).toBe(changes?.messages.at(-1)?.rev)
  expect(changes?.more).toBe(true)
})

test('channels without room in a sync answer come in the next, and removed ones too', async () => {
  ana = await world().user('syncer')
  const ids = await fillChannels(world(), 'syncer')
  const unknown = '019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c81'
  const known = Object.fromEntries([...ids, unknown].map((id) => [id, 2]))
  const { records, removed, messages } = await syncAll(known)
  expect(records.toSorted()).toEqual(ids.toSorted())
  expect(removed).toEqual([unknown])
  expect(messages).toEqual([])
})
