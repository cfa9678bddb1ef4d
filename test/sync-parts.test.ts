import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { insertUsers } from './support/inserted.ts'
import { invalid, refusal } from './support/refusal.ts'
import { type User, useSharedWorld } from './support/world.ts'

const world = useSharedWorld()
const NOTHING_SINCE = limits.largestInteger

type Create = Parameters<User['channels']['create']>[0]

/** A channel with a pin, a thread and a message besides. */
async function createTalk(owner: User, memberIds: string[] = [], more: Partial<Create> = {}) {
  const create = { type: 'group' as const, name: 'Talk', memberIds, ...more }
  const { id: channelId } = await owner.channels.create(create)
  const send = async (text: string, parentId?: string) =>
    (await owner.messages.send({ channelId, text, parentId })).id
  const pinned = await send('pinned')
  const root = await send('root')
  await send('reply', root)
  await send('last')
  for (const messageId of [root, pinned]) await owner.pins.pin({ channelId, messageId })
  return { channelId, pinned, root, send }
}

/** Everything that can be shown of channels. */
const allOf = (channelIds: string[], threads: string[]) => ({
  channels: Object.fromEntries(channelIds.map((id) => [id, NOTHING_SINCE])),
  ...{ pages: channelIds, roots: channelIds, pins: channelIds, members: channelIds },
  threads,
})

test('a sync returns what the operations of its parts return', async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  const { channelId, root, pinned } = await createTalk(ana, ['ben'])
  await ben.reactions.add({ channelId, messageId: pinned, emoji: '👍' })
  const ref = { channelId, messageId: root }
  const { channels, users } = await ben.sync.pull({
    ...allOf([channelId], [root]),
    userIds: ['ben', 'nobody', 'ana'],
  })
  const twice = await ben.sync.pull(allOf([channelId], [root, root.toUpperCase(), root]))
  expect(twice.channels[channelId]).toEqual(channels[channelId])
  const list = await ben.messages.list({ channelId, limit: 50, replies: false })
  const { roots, pins, threads } = channels[channelId] ?? {}
  expect(roots).toEqual({ messages: list.messages, hasMore: list.hasMore })
  expect(pins).toEqual((await ben.pins.list({ channelId })).messages)
  expect(pins?.map(({ text, reactions }) => [text, reactions[0]?.own])).toEqual([
    ['pinned', true],
    ['root', undefined],
  ])
  expect(threads).toEqual({
    [root]: {
      parent: await ben.messages.get(ref),
      ...(await ben.messages.replies({ ...ref, limit: 50 })),
    },
  })
  expect(users).toEqual((await ben.users.list({ ids: ['ana', 'ben'] })).users)
})

test('only what is asked for is returned, and of channels without pins an empty list', async () => {
  const cem = await world().user('cem')
  const { channelId, root } = await createTalk(cem)
  const { id: empty } = await cem.channels.create({ type: 'group', name: 'Empty' })
  const channels = { [channelId]: NOTHING_SINCE, [empty]: NOTHING_SINCE }
  const plain = await cem.sync.pull({ channels })
  expect(Object.keys(plain.channels[channelId] ?? {}).sort()).toEqual([
    ...['channel', 'messages', 'resync', 'rev'],
  ])
  expect(plain).not.toHaveProperty('users')
  const asked = await cem.sync.pull({ channels, roots: [empty], pins: [empty], threads: [root] })
  expect(asked.channels[empty]).toMatchObject({ roots: { messages: [] }, pins: [] })
  expect(asked.channels[empty]).not.toHaveProperty('threads')
  expect(asked.channels[channelId]).not.toHaveProperty('pins')
  expect(asked.channels[channelId]).not.toHaveProperty('roots')
})

test('a thread has its newest 50 replies that are not deleted, and its root likewise', async () => {
  const dora = await world().user('dora')
  const { channelId, root, send } = await createTalk(dora)
  const replies = []
  for (let n = 1; n <= 51; n++) replies.push(await send(`${n}`, root))
  const pull = async (...threads: string[]) =>
    (await dora.sync.pull({ channels: { [channelId]: NOTHING_SINCE }, threads })).channels[
      channelId
    ]?.threads
  const full = await pull(replies.at(-1) ?? '', root)
  // A reply has no thread.
  expect(Object.keys(full ?? {})).toEqual([root])
  expect(full?.[root]?.messages.map(({ id }) => id)).toEqual(replies.slice(1))
  expect(full?.[root]?.hasMore).toBe(true)
  await dora.messages.delete({ channelId, messageId: replies[50] ?? '' })
  await dora.messages.delete({ channelId, messageId: root })
  const rest = (await pull(root))?.[root]
  expect(rest).not.toHaveProperty('parent')
  expect(rest?.messages.at(-1)?.id).toBe(replies[49])
  expect(rest?.messages).toHaveLength(50)
})

test('users who may not read a channel get none of its parts, whichever they name', async () => {
  const [eva, fritz, gone] = await world().users('eva', 'fritz', 'gone')
  const { channelId, root } = await createTalk(eva, ['gone'])
  await gone.sync.pull(allOf([channelId], [root]))
  await gone.members.leave({ channelId })
  const foreign = await world().operator.apps.create({ name: 'Other' })
  const backend = world().api({ apiKey: foreign.apiKey })
  const { token } = await backend.tokens.create({ userId: 'eva' })
  const namesake = world().api({ token })
  const removed = { channels: { [channelId]: { removed: true } }, more: false }
  for (const other of [fritz, gone, namesake])
    expect(await other.sync.pull(allOf([channelId], [root]))).toMatchObject(removed)
  for (const other of [fritz, gone, namesake]) {
    const answer = JSON.stringify(await other.sync.pull(allOf([channelId], [root])))
    expect(answer).not.toMatch(/pinned|reply|eva/)
    // They get none beside a channel of their own either, or beside none.
    const { id: own } = await other.channels.create({ type: 'group', name: 'Own' })
    for (const ids of [[own], []]) {
      const wanted = { ...allOf([channelId], [root]), channels: allOf(ids, []).channels }
      expect(JSON.stringify(await other.sync.pull(wanted))).not.toMatch(/pinned|reply|threads/)
    }
  }
  // The users of another app are not found either.
  const userIds = ['fritz', 'eva']
  const found = await namesake.sync.pull({ channels: {}, userIds })
  expect(found.users?.map(({ id }) => id)).toEqual(['eva'])
  expect((await eva.sync.pull({ channels: {}, userIds })).users).toHaveLength(2)
})

test.each(['public', 'livestream', 'team'] as const)(
  'a reader who is no member of a %s channel gets its parts like a member',
  async (type) => {
    const [hana, ivo, jo] = await world().users('hana', 'ivo', 'jo')
    const { id: workspaceId } = await hana.workspaces.create({ name: 'Team', type: 'team' })
    const { token } = await hana.invites.create({ workspaceId })
    await ivo.invites.accept({ token })
    const team = type === 'team' ? { workspaceId } : {}
    const { channelId, root } = await createTalk(hana, [], { type, ...team })
    const all = allOf([channelId], [root])
    const { channels } = await ivo.sync.pull(all)
    const own = (await hana.sync.pull(all)).channels[channelId]
    const { unreadCount, unreadVersion, lastReadSeq, lastMessage } =
      channels[channelId]?.channel ?? {}
    const record = { unreadCount, unreadVersion, lastReadSeq, lastMessage, role: null }
    expect(unreadCount).toBe(0)
    expect(channels[channelId]).toEqual({
      ...own,
      ...{ removed: true, channel: { ...own?.channel, ...record } },
    })
    // The user receives later messages as a member does.
    const since = { channels: { [channelId]: channels[channelId]?.rev ?? 0 } }
    await hana.messages.send({ channelId, text: 'news' })
    const { messages } = (await ivo.sync.pull(since)).channels[channelId] ?? {}
    expect(messages?.map(({ text }) => text)).toEqual(['news'])
    if (type === 'team')
      expect((await jo.sync.pull(all)).channels).toEqual({ [channelId]: { removed: true } })
  },
)

test('a sync that wants too many parts is refused; ids that no user has are left out', async () => {
  const gus = await world().user('gus')
  const ids = Array.from(
    { length: 11 },
    (_, index) => `019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c${10 + index}`,
  )
  const names = Array.from({ length: 101 }, (_, index) => `user${index}`)
  const many = [{ roots: ids }, { pins: ids }, { threads: ids }, { userIds: names }]
  for (const refused of [...many, { threads: ['nonsense'] }])
    expect(await refusal(gus.sync.pull({ channels: {}, ...refused }))).toEqual(invalid)
  await gus.sync.pull({ ...allOf([], ids.slice(1)), userIds: names.slice(1) })
  const odd = ['gus', 'a b', '\0', '', 'x'.repeat(300)]
  const { users } = await gus.sync.pull({ channels: {}, userIds: odd })
  expect(users?.map(({ id }) => id)).toEqual(['gus'])
})

test('users without room in 1 MB are left out, all of them', async () => {
  const jan = await world().user('jan')
  const ids = await insertUsers(world(), 'long-', 100)
  const pull = async (userIds: string[]) => (await jan.sync.pull({ channels: {}, userIds })).users
  expect(await pull(ids)).toHaveLength(100)
  await world().db`
    update users
    set image = 'https://example.com/' || repeat(chr(1), 2000)
    where app_id = ${world().appId}
      and id = any(${ids})`
  expect(await pull(ids)).toBeUndefined()
  expect(await pull(ids.slice(50))).toHaveLength(50)
})

test('parts without room in 1 MB are left out as a whole, or say that there is more', async () => {
  const hal = await world().user('hal')
  const { db, appId } = world()
  const talks = [await createTalk(hal), await createTalk(hal)]
  for (const { channelId, root } of talks) {
    await db`
      insert into messages (
        id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments, parent_id
      )
      select gen_random_uuid(), ${appId}, ${channelId}, 'hal', n, n, ${'😀'.repeat(10_000)}, '{}',
        '[]', case when n % 2 = 0 then ${root}::uuid end
      from generate_series(11, 34) n`
    await db`
      insert into pins (app_id, channel_id, message_id, pinned_by)
      select ${appId}, channel_id, id, 'hal'
      from messages
      where channel_id = ${channelId}
        and seq > 10`
    await db`
      update channels
      set last_seq = 34, rev = 34
      where id = ${channelId}`
  }
  const ids = talks.map(({ channelId }) => channelId)
  const roots = talks.map(({ root }) => root)
  const names = await insertUsers(world(), 'hals-', 90)
  const everything = { ...allOf(ids, roots), userIds: ['hal', ...names] }
  const only = (part: string) => ({
    channels: everything.channels,
    [part]: everything[part as keyof typeof everything],
  })
  const counts = []
  for (const wanted of [everything, only('threads'), only('pins'), only('roots')]) {
    const answer = await fetch(`${world().url}/api/sync`, {
      method: 'POST',
      headers: { authorization: `Bearer ${hal.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(wanted),
    })
    const text = await answer.text()
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limits.answerBytes)
    const shown = Object.values<Awaited<ReturnType<User['sync']['pull']>>['channels'][string]>(
      JSON.parse(text).channels,
    )
    counts.push(shown.flatMap(({ threads }) => Object.values(threads ?? {})).length)
    for (const { pins } of shown) expect(pins?.length ?? 26).toBe(26)
    for (const { messages, parent, hasMore } of shown.flatMap(({ threads = {} }) =>
      Object.values(threads),
    )) {
      expect(parent?.text).toBe('root')
      expect(messages.at(-1)?.seq).toBe(34)
      expect(hasMore).toBe(messages.length < 13)
    }
  }
  // The first two threads have room together, if nothing else is asked for.
  expect(counts).toEqual([0, 2, 0, 0])
})
