import { expect, test } from 'vitest'
import { inBatches } from './support/batches.ts'
import { upTo } from './support/events.ts'
import { invalid, refusal } from './support/refusal.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('a sync returns every change since a rev, and the current channel', async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  const { id } = await ana.channels.create({ type: 'group', name: 'Talk', memberIds: ['ben'] })
  const sent = []
  for (const text of ['one', 'two', 'three', 'four'])
    sent.push(await ana.messages.send({ channelId: id, text }))
  const { rev } = await ben.channels.get({ channelId: id })
  expect(await ben.sync.pull({ channels: { [id]: rev } })).toMatchObject({
    channels: { [id]: { rev, messages: [], channel: { unreadCount: 4 } } },
    more: false,
  })

  const [one = '', two = '', three = ''] = sent.map((message) => message.id)
  await ana.messages.edit({ channelId: id, messageId: two, text: 'two!' })
  await ben.reactions.add({ channelId: id, messageId: one, emoji: '👍' })
  await ana.messages.delete({ channelId: id, messageId: three })
  await ben.messages.send({ channelId: id, text: 'five', parentId: two })
  const { channels } = await ben.sync.pull({ channels: { [id]: rev } })
  const changes = channels[id]
  expect(changes?.messages?.map(({ text, deletedAt }) => [text, deletedAt !== null])).toEqual([
    ['one', false],
    ['', true],
    ['two!', false],
    ['five', false],
  ])
  expect(changes?.messages?.[0]?.reactions).toMatchObject([{ type: '👍', own: true }])
  expect(changes?.messages?.map((message) => message.rev)).toEqual([
    rev + 2,
    rev + 3,
    rev + 4,
    rev + 4,
  ])
  expect(changes?.channel).toEqual((await ben.channels.list()).channels[0])
  expect(changes?.rev).toBe(rev + 4)
  const listed = (await ben.messages.list({ channelId: id, since_seq: 0 })).messages
  const whole = (await ben.sync.pull({ channels: { [id]: 0 } })).channels[id]?.messages
  expect(whole?.toSorted((a, b) => a.seq - b.seq)).toEqual(listed)
})

test('a sync returns every change since any rev, of older rows too', async () => {
  const { db } = world()
  const [ana, ben] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: ['ben'],
  })
  const { id: messageId } = await ana.messages.send({ channelId, text: 'first' })
  for (const text of ['second', 'third', 'fourth', 'fifth']) {
    const sent = await ben.messages.send({ channelId, text })
    await ben.reactions.add({ channelId, messageId, emoji: text === 'third' ? '👍' : '🎉' })
    if (text === 'fourth') await ben.messages.edit({ channelId, messageId: sent.id, text })
    await ana.messages.send({ channelId, text, parentId: messageId })
    if (text === 'second') await ben.messages.delete({ channelId, messageId: sent.id })
  }
  const before = (await ben.messages.list({ channelId, limit: 3 })).messages
  for (const emoji of ['🍲', '🥗', '🍞', '🧀'])
    await ana.reactions.add({ channelId, messageId: `${before[0]?.id}`, emoji })
  const { messages } = await ben.messages.list({ channelId, since_seq: 0 })
  const { rev } = await ben.channels.get({ channelId })
  const expectAll = async () => {
    for (const since of upTo(rev, 0)) {
      const { channels } = await ben.sync.pull({ channels: { [channelId]: since } })
      const changed = messages.filter((message) => message.rev > since)
      const inOrder = changed.toSorted((a, b) => a.rev - b.rev || a.seq - b.seq)
      expect(channels[channelId]?.messages).toEqual(inOrder)
    }
  }
  await expectAll()
  // A server of an earlier version has stored some of them like this.
  for (const older of [0, 1, 2]) {
    await db`
      update messages
      set created_rev = case when seq % 3 <> ${older}::int then created_rev end
      where channel_id = ${channelId}`
    await expectAll()
  }
})

test('a sync returns the read state even where nothing else changed', async () => {
  const [cem, dora] = await world().users('cem', 'dora')
  const { id } = await cem.channels.create({ type: 'group', name: 'Talk', memberIds: ['dora'] })
  await cem.messages.send({ channelId: id, text: 'hi' })
  const { rev } = await dora.channels.get({ channelId: id })
  await dora.reads.mark({ channelId: id })
  expect((await dora.sync.pull({ channels: { [id]: rev } })).channels[id]).toMatchObject({
    rev,
    messages: [],
    channel: { lastReadSeq: 1, unreadCount: 0, role: 'member' },
  })
})

test('a sync marks deleted, left, foreign and unknown channels as removed', async () => {
  const [eli, fay] = await world().users('eli', 'fay')
  const make = async (type: 'group' | 'public') =>
    (await eli.channels.create({ type, name: 'X', memberIds: ['fay'] })).id
  const [deleted, left, kicked, alone] = [
    await make('group'),
    await make('public'),
    await make('group'),
    (await eli.channels.create({ type: 'public', name: 'Alone' })).id,
  ]
  await eli.channels.delete({ channelId: deleted })
  await fay.members.leave({ channelId: left })
  await eli.members.remove({ channelId: kicked, userId: 'fay' })
  const { token } = await (await world().stranger()).tokens.create({ userId: 'fay' })
  const foreign = (await world().api({ token }).channels.create({ type: 'group', name: 'Foreign' }))
    .id
  const unknown = '019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c81'
  const gone = [deleted, kicked, foreign, unknown]
  const known = Object.fromEntries([...gone, left, alone].map((id) => [id, 0]))
  const { channels } = await fay.sync.pull({ channels: known })
  for (const id of gone) expect(channels[id]).toEqual({ removed: true })
  for (const id of [left, alone])
    expect(channels[id]).toMatchObject({ removed: true, channel: { id, role: null }, messages: [] })
})

test('a client more than 2,000 changes behind, or ahead, must resync', async () => {
  const gus = await world().user('gus')
  const { id } = await gus.channels.create({ type: 'group', name: 'Long' })
  await world().db`update channels set rev = 2002 where id = ${id}`
  const since = async (rev: number) =>
    (await gus.sync.pull({ channels: { [id]: rev } })).channels[id]
  expect(await since(1)).toMatchObject({ resync: true, rev: 2_002, messages: [] })
  expect(await since(2_003)).toMatchObject({ resync: true, rev: 2_002 })
  expect(await since(2)).not.toHaveProperty('resync')
})

test('a sync answer holds 1,500 messages, and repeated calls return each once', async () => {
  const { db, appId } = world()
  const hal = await world().user('hal')
  const { id: idle } = await hal.channels.create({ type: 'group', name: 'Idle' })
  const ids = await Promise.all(
    ['A', 'B', 'C', 'D'].map(
      async (name) => (await hal.channels.create({ type: 'group', name })).id,
    ),
  )
  await db`
    insert into messages (id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments)
    select gen_random_uuid(), ${appId}, given, 'hal', n, 902 - n, 'm' || n, '{}', '[]'
    from unnest(${ids}::uuid[]) given, generate_series(1, 900) n`
  await db`update channels set last_seq = 900, rev = 901 where id = any(${ids}::uuid[])`
  let known = Object.fromEntries([...ids, idle].map((id) => [id, 1]))
  const received: string[] = []
  const sizes: number[] = []
  for (let more = true; more; ) {
    const answer = await hal.sync.pull({ channels: known })
    const messages = Object.values(answer.channels).flatMap((changes) => changes.messages ?? [])
    known = Object.fromEntries(
      Object.entries(answer.channels).map(([id, { rev = -1 }]) => [id, rev]),
    )
    received.push(...messages.map((message) => message.id))
    sizes.push(messages.length)
    expect(Object.values(answer.channels).some((changes) => changes.more)).toBe(answer.more)
    expect(answer.channels[idle]).toMatchObject({ rev: 1, messages: [] })
    expect(answer.channels[idle]).not.toHaveProperty('more')
    more = answer.more
  }
  expect(sizes).toEqual([1_500, 1_500, 600])
  expect(new Set(received).size).toBe(3_600)
  expect(ids.map((id) => known[id])).toEqual([901, 901, 901, 901])
})

test('a sync never splits a reply from its root, which shares its rev', async () => {
  const { db, appId } = world()
  const ivo = await world().user('ivo')
  const { id } = await ivo.channels.create({ type: 'group', name: 'Pair' })
  await db`
    insert into messages (id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments)
    select gen_random_uuid(), ${appId}, ${id}, 'ivo', n, least(n + 1, 1501), 'm' || n, '{}', '[]'
    from generate_series(1, 1501) n`
  await db`update channels set last_seq = 1501, rev = 1501 where id = ${id}`
  const pull = async (rev: number) =>
    (await ivo.sync.pull({ channels: { [id]: rev } })).channels[id]
  const first = await pull(1)
  expect([first?.messages?.length, first?.rev, first?.more]).toEqual([1_499, 1_500, true])
  const rest = await pull(1_500)
  expect([rest?.messages?.map(({ seq }) => seq), rest?.rev, rest?.more]).toEqual([
    [1_500, 1_501],
    1_501,
    undefined,
  ])
})

test('one sync covers two hundred channels', async () => {
  const ida = await world().user('ida')
  const ids = await inBatches(
    Array.from({ length: 200 }, (_, index) => `Many ${index}`),
    20,
    async (name) => {
      const { id: channelId } = await ida.channels.create({ type: 'group', name })
      await ida.messages.send({ channelId, text: 'hi' })
      return channelId
    },
  )
  const { channels, more } = await ida.sync.pull({
    channels: Object.fromEntries(ids.map((id) => [id, 0])),
  })
  expect(Object.values(channels).map(({ rev, messages }) => [rev, messages?.length])).toEqual(
    ids.map(() => [2, 1]),
  )
  expect(more).toBe(false)
})

test('a sync of more than 200 channels, or with malformed ids or revs, is refused', async () => {
  const jo = await world().user('jo')
  const id = '019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c81'
  const many = Object.fromEntries(
    Array.from({ length: 201 }, (_, index) => [id.slice(0, -3) + String(100 + index), 0]),
  )
  for (const channels of [
    many,
    { [id]: -1 },
    { [id]: 1.5 },
    { [id]: '1' as never },
    { nonsense: 0 },
    [] as never,
  ]) {
    expect(await refusal(jo.sync.pull({ channels }))).toEqual(invalid)
  }
  expect(await jo.sync.pull({ channels: {} })).toEqual({
    channels: {},
    more: false,
    settingsVersion: 0,
  })
})

test('a sync of thousands of bad ids is refused in a few words', async () => {
  const jo = await world().user('jo')
  const channels = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [index, -1]))
  const reasonOf = (input: Parameters<typeof jo.sync.pull>[0]) =>
    jo.sync.pull(input).then(
      () => '',
      ({ message }: Error) => message,
    )
  expect(await reasonOf({ channels })).toBe('channels: expected at most 200 channels')
  const some = (count: number) => Object.fromEntries(Object.entries(channels).slice(0, count))
  const message = await reasonOf({ channels: some(200) })
  expect(message).toMatch(/^channels\.0: .*; and 180 more$/)
  expect(message.length).toBeLessThan(2_000)
  expect(await reasonOf({ channels: some(20) })).not.toContain('more')
})
