import { expect, test } from 'vitest'
import { afterAnyHistory, createEverydayFixture, runConcurrently } from './support/histories.ts'
import { type User, useWorld } from './support/world.ts'

const world = useWorld()

/** The live messages of others after the unread marker, counted from the rows. */
const recount = async ({ id }: User, channelId: string) => {
  const [row] = await world().db<{ count: number }[]>`
    select count(*)::int
    from members m
    join messages msg on msg.channel_id = m.channel_id
    where m.channel_id = ${channelId}
      and m.user_id = ${id}
      and msg.seq > m.unread_after_seq
      and msg.user_id <> m.user_id
      and msg.deleted_at is null
      and msg.silent is not true`
  return row?.count ?? 0
}

/** The unread counts of a user, which must be the same wherever they are shown. */
const shownTo = async (user: User, channelIds: string[]) => {
  const { channels, totalUnread } = await user.channels.list({ limit: 100, total: true })
  const listed = new Map(channels.map(({ id, unreadCount }) => [id, unreadCount]))
  const counts = await Promise.all(
    channelIds.map(async (channelId) => (await user.channels.get({ channelId })).unreadCount),
  )
  expect(counts).toEqual(channelIds.map((id) => listed.get(id) ?? 0))
  const total = [...listed.values()].reduce((sum, count) => sum + count, 0)
  expect(await user.reads.unreadCount()).toEqual({ count: total, version: expect.any(Number) })
  expect(totalUnread).toBe(total)
  return counts
}

test('unread messages are those of others since a read or join, after any history', async () => {
  await afterAnyHistory({ length: 60, runs: 6 }, async (history) => {
    const { users, channels, run } = await createEverydayFixture(world())
    const channelIds = channels.map(({ id }) => id)
    const unread = new Map(
      users.flatMap(({ id }) =>
        channelIds.map((channelId) => [`${id} ${channelId}`, new Set<string>()]),
      ),
    )
    const members = new Map(channelIds.map((channelId) => [channelId, new Set(['ana', 'ben'])]))
    for (const step of history) {
      const { user, channelId, messageId, isRefused } = await run(step)
      if (isRefused) continue
      const mine = unread.get(`${user.id} ${channelId}`)
      const inside = members.get(channelId) ?? new Set()
      if (step.action === 'send' || step.action === 'reply') {
        inside.add(user.id)
        for (const id of inside)
          if (id !== user.id) unread.get(`${id} ${channelId}`)?.add(messageId)
      }
      if (step.action === 'sendSilently') inside.add(user.id)
      if (step.action === 'delete')
        for (const { id } of users) unread.get(`${id} ${channelId}`)?.delete(messageId)
      if (step.action === 'join') inside.add(user.id)
      if (step.action === 'leave') inside.delete(user.id)
      if (step.action === 'read' || step.action === 'readTo' || step.action === 'leave')
        mine?.clear()
    }
    for (const user of users)
      expect(await shownTo(user, channelIds)).toEqual(
        channelIds.map((channelId) => unread.get(`${user.id} ${channelId}`)?.size),
      )
  })
})

test('unread counts equal a recount of the rows, after any concurrent history', async () => {
  await afterAnyHistory({ length: 100, runs: 4 }, async (history) => {
    const { users, channels, run } = await createEverydayFixture(world())
    const channelIds = channels.map(({ id }) => id)
    await runConcurrently(history, 8, run)
    for (const user of users)
      expect(await shownTo(user, channelIds)).toEqual(
        await Promise.all(channelIds.map((channelId) => recount(user, channelId))),
      )
  })
})

test("an author's messages are numbered without gaps, or counted if they are not", async () => {
  const { db, appId } = world()
  const [ana, ben] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Numbers',
    memberIds: ['ben'],
  })
  const sendAll = (user: User) =>
    Promise.all(
      Array.from({ length: 6 }, (_, index) => user.messages.send({ channelId, text: `${index}` })),
    )
  const misnumbered = () => db`
    select
    from (
      select author_seq, row_number() over (partition by user_id order by seq) as expected
      from messages
      where app_id = ${appId}
        and channel_id = ${channelId}
    ) numbered
    where author_seq <> expected`
  await Promise.all([sendAll(ana), sendAll(ben)])
  expect(await misnumbered()).toHaveLength(0)
  // Messages were stored like this before there were numbers.
  await db`
    update messages
    set author_seq = null
    where app_id = ${appId}
      and channel_id = ${channelId}`
  const counts = () => Promise.all([ana, ben].map((user) => recount(user, channelId)))
  const shown = () =>
    Promise.all(
      [ana, ben].map(async (user) => (await user.channels.get({ channelId })).unreadCount),
    )
  expect(await shown()).toEqual(await counts())
  await Promise.all([sendAll(ana), sendAll(ben)])
  expect(await misnumbered()).toHaveLength(0)
  expect(await shown()).toEqual(await counts())
})
