import { contract, limits } from '@parley/contract'
import { beforeAll, describe, expect, test } from 'vitest'
import { liveChatOf, ready, until } from './support/chat.ts'
import { channelEventsOf } from './support/events.ts'
import { unknownId } from './support/ids.ts'
import { insertUsers } from './support/inserted.ts'
import { expectError, post } from './support/raw.ts'
import { forbidden, invalid, refusal, refusals } from './support/refusal.ts'
import { type User, useSharedWorld } from './support/world.ts'

const world = useSharedWorld()
let ana: User
let ben: User
beforeAll(async () => {
  ;[ana, ben] = await world().users('ana', 'ben')
})
const createGroup = (custom?: Record<string, unknown>) =>
  ana.channels.create({ type: 'group', name: 'Talk', memberIds: ['ben'], custom })
const payloadsOf = async (channelId: string, type: string) =>
  (await channelEventsOf(world(), channelId))
    .filter((event) => event.type === type)
    .map(({ payload }) => payload)

/** An object nested this many levels deep. */
const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) })
const { bytes, depth } = limits.customData
const largest = { a: 'x'.repeat(bytes - '{"a":""}'.length) }

describe('metadata of messages', () => {
  test('message metadata is in answers, pages and events, and absent if empty', async () => {
    const { id: channelId } = await createGroup()
    const custom = { orderId: 7, tags: ['a', 1.5, true, { deep: 'ä' }] }
    const sent = await ana.messages.send({ channelId, text: 'one', custom })
    const plain = await ana.messages.send({ channelId, text: 'two', custom: { none: null } })
    expect(sent.custom).toEqual(custom)
    expect(plain).not.toHaveProperty('custom')
    const { messages } = await ben.messages.list({ channelId })
    expect(messages.map((message) => message.custom)).toEqual([custom, undefined])
    const events = await payloadsOf(channelId, 'message.new')
    expect(events.map(({ message }) => Object(message).custom)).toEqual([custom, undefined])
  })

  test('a change is merged: null for a key removes it, and null alone removes all', async () => {
    const { id: channelId } = await createGroup()
    const custom = { a: { x: 1, y: 2 }, b: 2, c: 3 }
    const sent = await ana.messages.send({ channelId, text: 'one', custom })
    const ref = { channelId, messageId: sent.id }
    const edited = await ana.messages.edit({ ...ref, custom: { a: { z: null }, b: null, d: 4 } })
    expect(edited).toMatchObject({ text: 'one', editedAt: null })
    expect(edited.custom).toEqual({ a: { z: null }, c: 3, d: 4 })
    expect(Date.parse(edited.updatedAt)).toBeGreaterThanOrEqual(Date.parse(sent.updatedAt))
    const same = await ana.messages.edit({ ...ref, custom: { c: 3, unknown: null } })
    expect(same).toEqual(edited)
    const texted = await ana.messages.edit({ ...ref, text: 'two' })
    expect(texted).toMatchObject({ text: 'two', custom: edited.custom })
    expect(texted.editedAt).not.toBeNull()
    const cleared = await ana.messages.edit({ ...ref, custom: null })
    expect(cleared).not.toHaveProperty('custom')
    expect(cleared.editedAt).toBe(texted.editedAt)
    expect(await ben.messages.get(ref)).toEqual(cleared)
    const events = await payloadsOf(channelId, 'message.updated')
    expect(events.map(({ message }) => Object(message).custom)).toEqual([
      edited.custom,
      edited.custom,
      undefined,
    ])
    expect(
      await refusals([
        ben.messages.edit({ ...ref, custom: { a: 1 } }),
        ana.messages.edit({ ...ref }),
      ]),
    ).toEqual([forbidden, invalid])
  })

  test('a deleted message has no metadata left, neither in its row nor in its events', async () => {
    const { id: channelId } = await createGroup()
    const custom = { secret: 'hush-custom' }
    const attachment = { type: 'file', url: 'https://example.com/a', custom, size: 5 }
    const { id: messageId } = await ana.messages.send({
      channelId,
      text: 'one',
      custom,
      attachments: [attachment],
    })
    await ana.messages.delete({ channelId, messageId })
    const { messages } = await ana.messages.list({ channelId, since_seq: 0 })
    expect(messages).toMatchObject([{ id: messageId, text: '', attachments: [] }])
    expect(messages[0]).not.toHaveProperty('custom')
    const events = await channelEventsOf(world(), channelId)
    expect(JSON.stringify(events)).not.toContain('hush-custom')
    const rows = await world().db`
      select *
      from messages
      where id = ${messageId}`
    expect(JSON.stringify(rows)).not.toContain('hush-custom')
  })
})

test('metadata has at most 8 KB and 10 levels, and nothing that cannot be stored', async () => {
  const { id: channelId } = await createGroup()
  const send = (custom: object) =>
    ana.messages.send({ channelId, text: 'x', custom: custom as Record<string, unknown> })
  expect((await send(largest)).custom).toEqual(largest)
  expect((await send(nested(depth))).custom).toEqual(nested(depth))
  const bad = [
    { a: `${largest.a}x` },
    { a: `${'ä'.repeat(bytes / 2)}` },
    nested(depth + 1),
    { a: 'nul \0' },
    { 'nul \0': 1 },
    { a: { b: ['\ud800'] } },
    [],
    'text',
  ]
  expect(await refusals(bad.map((custom) => send(Object(custom))))).toEqual(bad.map(() => invalid))
  const headers = { Authorization: `Bearer ${ana.token}`, 'Content-Type': 'application/json' }
  const path = `/api/channels/${channelId}/messages`
  for (const custom of ['{"__proto__":{"x":1}}', '{"a":{"__proto__":1}}', '{"a":1e999}', 'null'])
    expectError(
      await post(world().url, path, { headers, body: `{"text":"x","custom":${custom}}` }),
      'VALIDATION_ERROR',
    )
})

test('the contract refuses the key __proto__ for those who check a message themselves', () => {
  const { input } = contract.messages.send
  const draft = { channelId: unknownId, text: 'x' }
  for (const custom of ['{"__proto__":{"x":1}}', '{"a":[{"__proto__":1}]}'])
    expect(input.safeParse({ ...draft, custom: JSON.parse(custom) }).success).toBe(false)
  expect(input.safeParse({ ...draft, custom: { a: '__proto__' } }).success).toBe(true)
})

test('numbers in metadata count with all the digits that the database writes', async () => {
  const { id: channelId } = await createGroup()
  const send = (numbers: number[]) =>
    ana.messages.send({ channelId, text: 'x', custom: { a: numbers, b: '1e308' } })
  const repeated = (value: number, digits: number) =>
    Array.from({ length: Math.ceil(bytes / digits) }, () => value)
  const bad = [repeated(1e308, 309), repeated(-5e-324, 326), [...repeated(1e21, 22), 1]]
  expect(await refusals(bad.map(send))).toEqual(bad.map(() => invalid))
  const some = Array.from({ length: 20 }, () => 1e308)
  expect((await send(some)).custom).toEqual({ a: some, b: '1e308' })
})

test('a change may not make metadata larger than it may be', async () => {
  const { id: channelId } = await createGroup(largest)
  const { id: messageId } = await ana.messages.send({ channelId, text: 'x', custom: largest })
  const custom = { b: 1 }
  expect(
    await refusals([
      ana.messages.edit({ channelId, messageId, custom }),
      ana.channels.update({ channelId, custom }),
    ]),
  ).toEqual([invalid, invalid])
  expect((await ana.channels.update({ channelId, custom: { a: null, b: 1 } })).custom).toEqual({
    b: 1,
  })
})

test('metadata of channels is in records, lists and events, for staff to change', async () => {
  const { id: channelId, custom } = await createGroup({ orderId: 7, stage: 'new' })
  expect(custom).toEqual({ orderId: 7, stage: 'new' })
  const changed = await ana.channels.update({ channelId, custom: { stage: null, by: 'ana' } })
  expect(changed.custom).toEqual({ orderId: 7, by: 'ana' })
  expect((await ben.channels.get({ channelId })).custom).toEqual(changed.custom)
  const { channels } = await ben.channels.list()
  expect(channels.find(({ id }) => id === channelId)?.custom).toEqual(changed.custom)
  expect(await ana.channels.update({ channelId, custom: { by: 'ana' } })).toEqual(changed)
  expect((await ana.channels.update({ channelId, custom: null })).custom).toEqual({})
  const events = await payloadsOf(channelId, 'channel.updated')
  expect(events.map(({ channel }) => Object(channel).custom)).toEqual([changed.custom, {}])
  expect(await refusal(ben.channels.update({ channelId, custom: { a: 1 } }))).toEqual(forbidden)
})

test('metadata of members is theirs and the owners’ to change', async () => {
  const [, cleo] = await world().users('dan', 'cleo')
  const { id: channelId } = await createGroup()
  const custom = { desk: 3 }
  const added = await ana.members.add({ channelId, userIds: ['cleo', 'dan'], custom })
  expect(added.members.map((member) => member.custom)).toEqual([custom, custom])
  const own = await cleo.members.update({ channelId, userId: 'cleo', custom: { away: true } })
  expect(own).toMatchObject({ role: 'member', custom: { desk: 3, away: true } })
  const byOwner = await ana.members.update({
    channelId,
    userId: 'cleo',
    role: 'moderator',
    custom: { desk: null },
  })
  expect(byOwner).toMatchObject({ role: 'moderator', custom: { away: true } })
  const { members } = await ben.members.list({ channelId })
  expect(members.map(({ userId, custom }) => [userId, custom])).toEqual([
    ['ana', {}],
    ['ben', {}],
    ['cleo', { away: true }],
    ['dan', custom],
  ])
  const joined = await payloadsOf(channelId, 'channel.member_joined')
  expect(joined.map((payload) => payload.custom)).toEqual([{}, {}, custom, custom])
  const updated = await payloadsOf(channelId, 'channel.member_updated')
  expect(updated.map((payload) => payload.custom)).toEqual([own.custom, byOwner.custom])
  expect(
    await refusals([
      ben.members.update({ channelId, userId: 'cleo', custom: { desk: 1 } }),
      cleo.members.update({ channelId, userId: 'cleo', role: 'owner', custom: {} }),
      ana.members.update({ channelId, userId: 'cleo' }),
    ]),
  ).toEqual([forbidden, forbidden, invalid])
})

test('a list of members ends where an answer has no more room, and goes on', async () => {
  const { id: channelId } = await createGroup()
  const ids = await insertUsers(world(), 'many-', 150)
  await world().db`
    insert into members (app_id, channel_id, user_id, role, custom)
    select ${world().appId}, ${channelId}, id, 'member', ${world().db.json(largest)}
    from unnest(${ids}::text[]) id`
  const pages: string[][] = []
  for (let cursor: string | undefined | null = undefined; cursor !== null; ) {
    const page = await ana.members.list({ channelId, limit: 1000, cursor })
    expect(JSON.stringify(page).length).toBeLessThan(limits.answerBytes + 10_000)
    pages.push(page.members.map(({ userId }) => userId))
    cursor = page.nextCursor
  }
  expect(pages).toHaveLength(2)
  expect(pages.flat().sort()).toEqual(['ana', 'ben', ...ids].sort())
  const synced = await ana.sync.pull({ channels: { [channelId]: 0 }, members: [channelId] })
  expect(synced.channels[channelId]).not.toHaveProperty('members')
  const { chat } = await liveChatOf(world(), 'ana')
  const room = chat.channel(channelId)
  room.watch()
  expect((await until(room.members, ready)).items).toHaveLength(152)
  const again = await ana.members.add({ channelId, userIds: ids })
  expect(again.members.length).toBeLessThan(150)
  const some = { channelId, userIds: ids.slice(0, 101), custom: { a: 1 } }
  expect(await refusal(ana.members.add(some))).toEqual(invalid)
})

test('a page of messages with the largest metadata has at most 1 MB', async () => {
  const { id: channelId } = await createGroup()
  const { appId, db } = world()
  await db`
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments, custom
    )
    select
      gen_random_uuid(), ${appId}, ${channelId}, 'ana', n, 2 + n, 'x', '{}', '[]',
      ${db.json(largest)}
    from generate_series(1, 160) n`
  await db`
    update channels
    set last_seq = 160, rev = 162
    where id = ${channelId}`
  const page = await ana.messages.list({ channelId, limit: 200 })
  expect(JSON.stringify(page).length).toBeLessThanOrEqual(limits.answerBytes)
  expect(page.hasMore).toBe(true)
  expect(page.messages.length).toBeGreaterThan(100)
})

test('attachments say what they are, within bounds', async () => {
  const { id: channelId } = await createGroup()
  const full = {
    type: 'video',
    url: 'https://example.com/v.mp4',
    name: 'v.mp4',
    mimeType: 'video/mp4',
    size: 5_000_000_000,
    width: 1920,
    height: 1080,
    durationMs: 12_345,
    thumbnailUrl: 'https://example.com/v.png',
    custom: { codec: 'av1' },
  }
  const sent = await ana.messages.send({ channelId, text: '', attachments: [full] })
  expect(sent.attachments).toEqual([full])
  expect((await ben.messages.get({ channelId, messageId: sent.id })).attachments).toEqual([full])
  const bad = [
    { width: -1 },
    { height: 1.5 },
    { size: Number.MAX_SAFE_INTEGER + 1 },
    { durationMs: '1' },
    { mimeType: '' },
    { thumbnailUrl: 'ftp://example.com' },
    { custom: { a: `${largest.a}x` } },
  ]
  const sends = bad.map((fields) =>
    ana.messages.send({ channelId, text: '', attachments: [{ ...full, ...(fields as object) }] }),
  )
  expect(await refusals(sends)).toEqual(bad.map(() => invalid))
})

test('metadata with more keys than fit into it is refused before they are checked', async () => {
  let looks = 0
  const keys = Array.from({ length: 20_000 }, (_, index) => `k${index}`)
  const look = { enumerable: true, get: () => looks++ }
  const custom = Object.defineProperties({}, Object.fromEntries(keys.map((key) => [key, look])))
  const input = contract.messages.send.input.safeParse({ channelId: unknownId, text: 'a', custom })
  expect(input.error?.issues).toMatchObject([
    { path: ['custom'], message: `expected at most ${bytes} bytes of JSON` },
  ])
  expect(looks).toBe(0)
  const { id: channelId } = await createGroup()
  const sent = { channelId, text: 'a', custom: Object.fromEntries(keys.map((key) => [key, 1])) }
  expect(await refusal(ana.messages.send(sent))).toEqual(invalid)
  const deep = { ...sent, custom: { a: keys.map(() => ({})) } }
  expect(await refusal(ana.messages.send(deep))).toEqual(invalid)
})
