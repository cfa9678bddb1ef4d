import { expect, onTestFinished, test } from 'vitest'
import { erased } from '../support/cleanup.ts'
import { channelEventsOf } from '../support/events.ts'
import { exportOf } from '../support/exported.ts'
import { insertUsers } from '../support/inserted.ts'
import { whileLocked, withoutCleanup } from '../support/locks.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'
import { talkIn } from './fixture.ts'

const world = useWorld()
const talk = talkIn(world)

const FANS = 3_000

/** A message of ana's to which ben and many others reacted, and one more to which ben did. */
async function createReactions() {
  const { ana, ben, channelId, say } = await talk()
  const { id: messageId } = await say('hi')
  const { id: otherId } = await say('ho')
  const fans = await insertUsers(world(), `fan-of-${channelId}-`, FANS)
  const react = (id: string) => world().db`
    insert into reactions (app_id, message_id, emoji, user_id)
    select ${world().appId}, ${id}, '👍', fan
    from unnest(${[...fans, 'ben']}::text[]) fan
    on conflict do nothing`
  await react(messageId)
  await ben.reactions.add({ channelId, messageId: otherId, emoji: '👍' })
  return { ana, ben, react, ref: { channelId, messageId }, fan: fans[0] ?? '', otherId }
}

const leftOf = (messageId: string) => world().db`
  select
  from reactions
  where message_id = ${messageId}`
const noneLeftOf = (messageId: string) =>
  until(async () => {
    await world().cleanup.run()
    return (await leftOf(messageId)).length === 0
  })

/** The ones of these messages to which a user reacted, by their export. */
async function reactedTo(userId: string, messageIds: string[]) {
  const items = await exportOf(world(), userId)
  const exported = items.flatMap(({ kind, data }) => (kind === 'reaction' ? data.messageId : []))
  return messageIds.filter((id) => exported.includes(id))
}

/** Notes how many reactions each statement deletes from here on. */
async function watchDeletions() {
  const { db } = world()
  await db`create table deletions (count int)`
  await db.unsafe(`
    create function note_deletion() returns trigger language plpgsql as $$
    begin
      insert into deletions select count(*) from changed;
      return null;
    end
    $$`)
  await db`
    create trigger noted after delete on reactions referencing old table as changed
    for each statement execute function note_deletion()`
  onTestFinished(async () => {
    await db`drop function note_deletion cascade`
    await db`drop table deletions`
  })
  return async () => {
    const deletions = await db<{ count: number }[]>`
      select count
      from deletions`
    return deletions.map(({ count }) => count)
  }
}

test('many reactions are deleted later than their message, and not shown meanwhile', async () => {
  const { ana, ben, ref, otherId } = await createReactions()
  const { channelId, messageId } = ref
  const deletions = await watchDeletions()
  await ana.messages.delete(ref)
  expect(await deletions()).toEqual([0])
  expect(await leftOf(messageId)).toHaveLength(FANS + 1)
  // Readers of events look at none of the messages that wait for this.
  const waiting = await world().db<{ topic: string }[]>`
    select topic
    from text_removals
    where message_id = ${messageId}`
  expect(waiting).toEqual([{ topic: `reactions:${world().appId}:${channelId}` }])

  const { messages } = await ben.messages.list({ channelId, since_seq: 0 })
  const { channels } = await ben.sync.pull({ channels: { [channelId]: 1 } })
  const all = [...messages, ...(channels[channelId]?.messages ?? [])]
  const shown = all.filter(({ id }) => id === messageId)
  expect(shown.map(({ reactions }) => reactions)).toEqual([[], []])
  expect(await reactedTo('ben', [messageId, otherId])).toEqual([otherId])

  await noneLeftOf(messageId)
  expect(Math.max(...(await deletions()))).toBeLessThanOrEqual(1_000)
  const kept = await world().db<{ count: number }[]>`
    select count
    from reaction_counts
    where message_id = ${messageId}`
  expect(kept).toEqual([{ count: 0 }])
})

test('no event shows reactions that a deleted message still has', async () => {
  const { ana, ref, fan } = await createReactions()
  await ana.messages.delete(ref)
  const before = await channelEventsOf(world(), ref.channelId)
  await world().backend.users.delete({ userId: fan })
  await erased(world())
  expect(await channelEventsOf(world(), ref.channelId)).toEqual(before)
})

test('an erasure that waits for a deletion sends no event about its reactions', async () => {
  const { ana, ref, fan } = await createReactions()
  await whileLocked(world(), ref.channelId, async (waiting) => {
    const deleted = ana.messages.delete(ref)
    await waiting(1)
    await world().backend.users.delete({ userId: fan })
    await waiting(2)
    return { deleted }
  }).then(({ deleted }) => deleted)
  await erased(world())
  const events = await channelEventsOf(world(), ref.channelId)
  expect(events.at(-1)?.type).toBe('message.deleted')
})

test('a message that is deleted while a cleanup runs loses its reactions as well', async () => {
  const { ana, react, ref, otherId } = await createReactions()
  await react(otherId)
  await withoutCleanup(world(), () => ana.messages.delete(ref))
  await whileLocked(world(), ref.channelId, async (waiting) => {
    const deleted = ana.messages.delete({ ...ref, messageId: otherId })
    await waiting(1)
    const cleaned = world().cleanup.run()
    await waiting(2)
    return { done: Promise.all([deleted, cleaned]) }
  }).then(({ done }) => done)
  await noneLeftOf(otherId)
  expect(await leftOf(ref.messageId)).toHaveLength(0)
})

test('the reactions to a message of a deleted channel are deleted in steps', async () => {
  const { ana, ref } = await createReactions()
  const deletions = await watchDeletions()
  await ana.channels.delete(ref)
  await noneLeftOf(ref.messageId)
  expect((await deletions()).filter((count) => count > 0).length).toBeGreaterThan(2)
  expect(Math.max(...(await deletions()))).toBeLessThanOrEqual(1_000)
  const messages = await world().db`
    select
    from messages
    where channel_id = ${ref.channelId}`
  expect(messages).toHaveLength(0)
})
