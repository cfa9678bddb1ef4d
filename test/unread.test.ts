import { expect, test } from 'vitest'
import { afterAnyHistory, inCrowds, stage } from './support/history.ts'
import { type User, useWorld } from './support/world.ts'

const world = useWorld()

/** The others' live messages after the badge's marker, counted one by one. */
const recount = async ({ id }: User, channelId: string) => {
  const [row] = await world().db<{ count: number }[]>`
    select count(*)::int from members m join messages x on x.channel_id = m.channel_id
    where m.channel_id = ${channelId} and m.user_id = ${id} and x.seq > m.unread_after_seq and x.user_id <> m.user_id and x.deleted_at is null`
  return row?.count ?? 0
}

/** What a user is shown must agree wherever he looks. */
const shownTo = async (user: User, channelIds: string[]) => {
  const listed = new Map(
    (await user.channels.list({ limit: 100 })).channels.map(({ id, unreadCount }) => [
      id,
      unreadCount,
    ]),
  )
  const counts = await Promise.all(
    channelIds.map(async (channelId) => (await user.channels.get({ channelId })).unreadCount),
  )
  expect(counts).toEqual(channelIds.map((id) => listed.get(id) ?? 0))
  const total = [...listed.values()].reduce((sum, count) => sum + count, 0)
  expect(await user.reads.unreadCount()).toEqual({ count: total })
  return counts
}

test('after any history, unread is what others said since one last looked or joined, and is still there', async () => {
  await afterAnyHistory({ steps: 60, runs: 6 }, async (steps) => {
    const { cast, channelIds, live } = await stage(world())
    const unread = new Map(
      cast.flatMap(({ id }) =>
        channelIds.map((channelId) => [`${id} ${channelId}`, new Set<string>()]),
      ),
    )
    const members = new Map(channelIds.map((channelId) => [channelId, new Set(['ana', 'ben'])]))
    for (const step of steps) {
      const { user, channelId, messageId = '', refused } = await live(step)
      if (refused) continue
      const mine = unread.get(`${user.id} ${channelId}`)
      const inside = members.get(channelId) ?? new Set()
      if (step.does === 'send' || step.does === 'reply') {
        inside.add(user.id)
        for (const id of inside)
          if (id !== user.id) unread.get(`${id} ${channelId}`)?.add(messageId)
      }
      if (step.does === 'delete')
        for (const { id } of cast) unread.get(`${id} ${channelId}`)?.delete(messageId)
      if (step.does === 'join') inside.add(user.id)
      if (step.does === 'leave') inside.delete(user.id)
      if (step.does === 'read' || step.does === 'readTo' || step.does === 'leave') mine?.clear()
    }
    for (const user of cast)
      expect(await shownTo(user, channelIds)).toEqual(
        channelIds.map((channelId) => unread.get(`${user.id} ${channelId}`)?.size),
      )
  })
})

test('after any history in which everybody acts at once, unread is what a recount of the rows gives', async () => {
  await afterAnyHistory({ steps: 100, runs: 4 }, async (steps) => {
    const { cast, channelIds, live } = await stage(world())
    await inCrowds(steps, 8, live)
    for (const user of cast)
      expect(await shownTo(user, channelIds)).toEqual(
        await Promise.all(channelIds.map((channelId) => recount(user, channelId))),
      )
  })
})
