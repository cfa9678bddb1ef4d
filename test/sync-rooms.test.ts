import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { insertMembers, insertUsers } from './support/inserted.ts'
import { invalid, refusal } from './support/refusal.ts'
import { type User, useSharedWorld } from './support/world.ts'

const world = useSharedWorld()
const NOTHING_SINCE = limits.largestInteger

const createTalk = async (owner: User, memberIds: string[] = []) =>
  (await owner.channels.create({ type: 'group', name: 'Talk', memberIds })).id

test('a sync returns the newest messages, members and reads of opened channels', async () => {
  const [ana, ben] = await world().users('ana', 'ben', 'aaron')
  const [id, other] = [await createTalk(ana, ['ben']), await createTalk(ana)]
  const sent = []
  for (const text of ['one', 'two', 'three'])
    sent.push(await ana.messages.send({ channelId: id, text }))
  const [one, two] = sent.map((message) => message.id)
  await ana.messages.delete({ channelId: id, messageId: two ?? '' })
  await ben.reads.mark({ channelId: id, messageId: one ?? '' })
  for (const user of [ben, ana])
    await user.reactions.add({ channelId: id, messageId: one ?? '', emoji: '👍' })
  await ana.members.add({ channelId: id, userIds: ['aaron'] })
  const channels = { [id]: NOTHING_SINCE, [other]: NOTHING_SINCE }
  const wanted = { pages: [id, other], members: [id] }
  const synced = await ana.sync.pull({ channels, ...wanted, total: true })
  const { messages, hasMore } = await ana.messages.list({ channelId: id, limit: 50 })
  expect(synced.channels[id]?.page).toEqual({ messages, hasMore })
  expect(messages.map(({ text }) => text)).toEqual(['one', 'three'])
  const { members } = await ana.members.list({ channelId: id })
  const { users } = await ana.users.list({ ids: ['aaron', 'ana', 'ben'] })
  const presenceOf = (userId: string | undefined) => {
    const { online, presenceVersion, lastActiveAt } = users.find(({ id }) => id === userId) ?? {}
    return { online, presenceVersion, lastActiveAt }
  }
  expect(synced.channels[id]?.members).toEqual(
    [3, 1, 0].map((lastReadSeq, index) => ({
      ...{ ...members[index], lastReadSeq },
      ...presenceOf(members[index]?.userId),
    })),
  )
  expect(members.map(({ userId }) => userId)).toEqual(['ana', 'ben', 'aaron'])
  expect(synced.channels[other]).toMatchObject({ page: { messages: [], hasMore: false } })
  expect(synced.channels[other]).not.toHaveProperty('members')
  expect(synced.totalUnread).toBe(0)
  expect(await ben.sync.pull({ channels: {}, total: true })).toMatchObject({
    totalUnread: (await ben.reads.unreadCount()).count,
  })
  expect(await ana.sync.pull({ channels: {} })).not.toHaveProperty('totalUnread')
})

test('a page of the list has the total of unread messages, if asked for', async () => {
  const [gia, hal] = await world().users('gia', 'hal')
  for (const text of ['one', 'two']) {
    const channelId = await createTalk(gia, ['hal'])
    await gia.messages.send({ channelId, text })
  }
  expect(await hal.channels.list({ limit: 1, total: true })).toMatchObject({ totalUnread: 2 })
  expect(await hal.channels.list({ limit: 1 })).not.toHaveProperty('totalUnread')
  expect(await refusal(world().backend.channels.list({ total: true }))).toEqual(invalid)
})

test('a page of a sync has 50 messages, and says that there are more', async () => {
  const cem = await world().user('cem')
  const { db, appId } = world()
  const id = await createTalk(cem)
  await db`
    insert into messages (id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments)
    select gen_random_uuid(), ${appId}, ${id}, 'cem', n, n, n, '{}', '[]'
    from generate_series(1, 51) n`
  await db`update channels set last_seq = 51, rev = 51 where id = ${id}`
  const pull = async () =>
    (await cem.sync.pull({ channels: { [id]: NOTHING_SINCE }, pages: [id] })).channels[id]?.page
  const page = await pull()
  expect(page?.messages.map(({ seq }) => seq)).toEqual(
    Array.from({ length: 50 }, (_, index) => index + 2),
  )
  expect(page?.hasMore).toBe(true)
  await db`delete from messages where channel_id = ${id} and seq = 1`
  expect((await pull())?.hasMore).toBe(false)
})

test('a sync shows nothing of channels that the user is no member of', async () => {
  const [dora, emil] = await world().users('dora', 'emil')
  const id = await createTalk(dora)
  await dora.messages.send({ channelId: id, text: 'secret' })
  const wanted = { channels: { [id]: 0 }, pages: [id], members: [id], total: true }
  expect(await emil.sync.pull(wanted)).toEqual({
    channels: { [id]: { removed: true } },
    more: false,
    settingsVersion: 0,
    totalUnread: 0,
    totalUnreadVersion: expect.any(Number),
  })
  // Only channels that are pulled are shown.
  expect(await dora.sync.pull({ ...wanted, channels: {} })).toMatchObject({ channels: {} })
})

test('members are left out of a sync where there are more than a thousand in all', async () => {
  const fay = await world().user('fay')
  const [large, small, full] = [await createTalk(fay), await createTalk(fay), await createTalk(fay)]
  const many = await insertUsers(world(), 'many', 1_000)
  await insertMembers(world(), large, many)
  await insertMembers(world(), full, many.slice(1))
  await world().db`update channels set member_count = 1001 where id = ${large}`
  await world().db`update channels set member_count = 1000 where id = ${full}`
  const { channels } = await fay.sync.pull({
    channels: { [large]: 0, [small]: 0 },
    members: [large, small],
  })
  expect(channels[large]).not.toHaveProperty('members')
  expect(channels[small]?.members?.map(({ userId }) => userId)).toEqual(['fay'])
  // The channel with the latest activity comes first.
  const { channels: both } = await fay.sync.pull({
    channels: { [full]: 0, [small]: 0 },
    members: [full, small],
  })
  expect(both[full]?.members).toHaveLength(1_000)
  expect(both[small]).not.toHaveProperty('members')
  // One more has joined since the channel was read.
  await insertMembers(world(), full, many.slice(0, 1))
  const { channels: grown } = await fay.sync.pull({ channels: { [full]: 0 }, members: [full] })
  expect(grown[full]).not.toHaveProperty('members')
})

test('a sync with long messages stays within 1 MB and leaves out pages beyond it', async () => {
  const gus = await world().user('gus')
  const { db, appId } = world()
  const ids = [await createTalk(gus), await createTalk(gus)]
  for (const id of ids) {
    await db`
      insert into messages (id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments)
      select gen_random_uuid(), ${appId}, ${id}, 'gus', n, n, ${'😀'.repeat(10_000)}, '{}', '[]'
      from generate_series(1, 30) n`
    await db`update channels set last_seq = 30, rev = 30 where id = ${id}`
  }
  const custom = db.json({ a: 'x'.repeat(8_000) })
  for (const id of ids) {
    await insertMembers(world(), id, await insertUsers(world(), `long-${id}`, 10))
    await db`update channels set member_count = 11 where id = ${id}`
    await db`
      update members
      set custom = ${custom}
      where app_id = ${appId}
        and channel_id = ${id}`
  }
  const pull = async (since: number) => {
    const channels = Object.fromEntries(ids.map((id) => [id, since]))
    const answer = await fetch(`${world().url}/api/sync`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gus.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ channels, pages: ids, members: ids }),
    })
    return answer.text()
  }
  const text = await pull(NOTHING_SINCE)
  for (const each of [text, await pull(0)])
    expect(Buffer.byteLength(each)).toBeLessThanOrEqual(limits.answerBytes)
  const { channels } = JSON.parse(text)
  const pages = Object.values<{ page?: { messages: { seq: number }[]; hasMore: boolean } }>(
    channels,
  ).flatMap(({ page }) => page ?? [])
  // Either page may be shortened: it has the newest messages, without a gap.
  expect(pages.length).toBeGreaterThan(0)
  for (const { messages, hasMore } of pages) {
    expect(messages.at(-1)?.seq).toBe(30)
    expect(hasMore).toBe(messages.length < 30)
  }
})

test('a sync that wants to show more than 10 channels is refused', async () => {
  const hal = await world().user('hal')
  const ids = Array.from(
    { length: 11 },
    (_, index) => `019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c${10 + index}`,
  )
  for (const refused of [{ pages: ids }, { members: ids }, { pages: ['nonsense'] }])
    expect(await refusal(hal.sync.pull({ channels: {}, ...refused }))).toEqual(invalid)
  await hal.sync.pull({ channels: {}, pages: ids.slice(1), members: ids.slice(1) })
})
