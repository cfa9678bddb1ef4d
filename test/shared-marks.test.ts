import { type AppRouter, topics } from '@parley/contract'
import { createTRPCClient, httpBatchLink } from '@trpc/client'
import { expect, test } from 'vitest'
import { upTo } from './support/events.ts'
import { waitingForRows, whileLocked, whileRowLocked } from './support/locks.ts'
import { quietTimings } from './support/quiet.ts'
import { centrifugeOf, listen } from './support/realtime.ts'
import { onStatement, statementsOf, tripsOf } from './support/statements.ts'
import { unhurried } from './support/until.ts'
import { createWorld, type User, useWorld } from './support/world.ts'

const world = useWorld({
  onStatement,
  timings: quietTimings,
})
const unknownId = '019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c81'

/** A channel of ana's with ben in it, in which ana has sent these messages. */
const talk = async ([ana, ben]: [User, User], texts = ['one']) => {
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: [ben.id],
  })
  const ids: string[] = []
  for (const text of texts) ids.push((await ana.messages.send({ channelId, text })).id)
  return { channelId, ids }
}

/** Calls of a user that arrive in one request. */
const together = ({ token }: User) =>
  createTRPCClient<AppRouter>({
    links: [
      httpBatchLink({
        url: `${world().url}/trpc`,
        headers: { authorization: `Bearer ${token}` },
        maxItems: 20,
      }),
    ],
  })

const answerIn = (outcome: PromiseSettledResult<{ lastReadSeq: number }>) =>
  outcome.status === 'fulfilled' ? outcome.value.lastReadSeq : outcome.reason.data.code

/** Holds the member row of a user locked while `work` runs. */
const whileMemberLocked = <T>(
  { channelId, userId }: { channelId: string; userId: string },
  work: Parameters<typeof whileRowLocked<T>>[2],
) =>
  whileRowLocked(
    world(),
    (sql) => sql`
      select from members
      where channel_id = ${channelId}
        and user_id = ${userId}
      for update`,
    work,
  )

test('reading a channel takes one round trip, and reads at once share theirs', async () => {
  const users = await world().users('ana', 'ben')
  const [, ben] = users
  const { channelId } = await talk(users)
  await ben.reads.mark({ channelId })
  expect(await tripsOf(() => ben.reads.mark({ channelId }))).toEqual([
    [expect.stringMatching(/insert into read_marks/), expect.stringMatching(/as version/)],
  ])
  const channels = await Promise.all(upTo(20).map(() => talk(users)))
  const { reads } = together(ben)
  const marking = () =>
    Promise.all(channels.map(({ channelId }) => reads.mark.mutate({ channelId })))
  // The first of them does not wait for the others.
  expect((await statementsOf(marking)).length).toBeLessThanOrEqual(2 * 2)
})

test('reads that share a statement are answered and refused one by one', async () => {
  const users = await world().users('one-ana', 'one-ben')
  const [ana, ben] = users
  const first = await talk(users, ['one', 'two', 'three'])
  const other = await talk(users)
  const foreign = await ana.channels.create({ type: 'group', name: 'Without ben' })
  const { channelId, ids } = first
  const { reads } = together(ben)
  const outcomes = await Promise.allSettled([
    reads.mark.mutate({ channelId: other.channelId }),
    reads.mark.mutate({ channelId, messageId: ids[1] }),
    reads.mark.mutate({ channelId: foreign.id }),
    reads.mark.mutate({ channelId, messageId: other.ids[0] }),
    reads.mark.mutate({ channelId, messageId: ids[0] }),
    reads.mark.mutate({ channelId: unknownId }),
    reads.mark.mutate({ channelId: foreign.id, messageId: unknownId }),
  ])
  const refusals = ['FORBIDDEN', 'NOT_FOUND']
  expect(outcomes.map(answerIn)).toEqual([1, 2, ...refusals, 2, ...refusals.toReversed()])
  const { lastReadSeq, unreadCount } = await ben.channels.get({ channelId })
  expect({ lastReadSeq, unreadCount }).toEqual({ lastReadSeq: 2, unreadCount: 0 })
})

test('five reads of a channel at once send the member at most two unread counts', async () => {
  const users = await world().users('once-ana', 'once-ben')
  const [, ben] = users
  const client = centrifugeOf(world(), ben)
  const listener = await listen(client, topics.user(world().appId, ben.id))
  const { channelId, ids } = await talk(users, ['one', 'two', 'three', 'four', 'five'])
  const countsReceived = () =>
    listener.received.flatMap(({ envelope }) =>
      envelope.type === 'channel.unread_changed' ? [envelope.payload.count] : [],
    )
  // The counts that the messages have changed are sent with a delay.
  await listener.until(() => countsReceived().includes(ids.length))
  const before = countsReceived().length
  const { reads } = together(ben)
  await Promise.all(ids.map((messageId) => reads.mark.mutate({ channelId, messageId })))
  await ben.channels.updateSettings({ channelId, starred: true })
  await listener.untilType('channel.settings_changed')
  // The first of them does not wait for the others.
  expect([1, 2]).toContain(countsReceived().length - before)
  client.disconnect()
})

test('a read that waits for its row delays no other, and is carried out after all', async () => {
  const users = await world().users('wait-ana', 'wait-ben')
  const [ana, ben] = users
  const { channelId } = await talk(users)
  const { marked } = await whileMemberLocked({ channelId, userId: ben.id }, async () => {
    const marked = ben.reads.mark({ channelId })
    await waitingForRows(world(), 1)
    expect(await ana.reads.mark({ channelId })).toMatchObject({ lastReadSeq: 1 })
    return { marked }
  })
  expect(await marked).toMatchObject({ lastReadSeq: 1, unreadCount: 0 })
})

test('while a row stays locked, other reads of the app are answered first', async () => {
  const { databaseUrl } = world()
  const patience = { ...unhurried, statementMs: 30_000 }
  const impatient = await createWorld({ databaseUrl, patience })
  try {
    const users = await impatient.users('stuck-ana', 'stuck-ben')
    const [ana, ben] = users
    const { channelId } = await talk(users)
    const answered = (who: string, call: Promise<unknown>) =>
      call.then(
        () => who,
        () => `${who} refused`,
      )
    const { first, stuck } = await whileMemberLocked({ channelId, userId: ben.id }, async () => {
      const stuck = answered('ben', ben.reads.mark({ channelId }))
      await waitingForRows(world(), 1)
      const first = await Promise.race([stuck, answered('ana', ana.reads.mark({ channelId }))])
      return { first, stuck }
    })
    expect(first).toBe('ana')
    expect(await stuck).toBe('ben')
  } finally {
    await impatient.stop()
  }
})

test('a channel that others have locked delays no read of it', async () => {
  const users = await world().users('locked-ana', 'locked-ben')
  const [, ben] = users
  const { channelId } = await talk(users)
  await whileLocked(world(), channelId, async () => {
    expect(await ben.reads.mark({ channelId })).toMatchObject({ lastReadSeq: 1 })
  })
})

test('a read that was overtaken answers what the later one has left unread', async () => {
  const users = await world().users('late-ana', 'late-ben')
  const [ana, ben] = users
  const { channelId } = await talk(users)
  const { marked } = await whileMemberLocked({ channelId, userId: ben.id }, async (sql) => {
    const marked = ben.reads.mark({ channelId })
    await waitingForRows(world(), 1)
    for (const text of ['two', 'three']) await ana.messages.send({ channelId, text })
    await sql`
      update members
      set last_read_seq = 2, unread_after_seq = 2
      where app_id = ${world().appId}
        and channel_id = ${channelId}
        and user_id = ${ben.id}`
    return { marked }
  })
  const { unreadVersion } = await ben.channels.get({ channelId })
  expect(await marked).toMatchObject({ lastReadSeq: 2, unreadCount: 1, unreadVersion })
})

test('a read that waited for its row leaves unread what was sent meanwhile', async () => {
  const users = await world().users('while-ana', 'while-ben')
  const [ana, ben] = users
  const { channelId } = await talk(users)
  const { marked } = await whileMemberLocked({ channelId, userId: ben.id }, async () => {
    const marked = ben.reads.mark({ channelId })
    await waitingForRows(world(), 1)
    for (const text of ['two', 'three']) await ana.messages.send({ channelId, text })
    return { marked }
  })
  const read = await marked
  const { unreadVersion } = await ben.channels.get({ channelId })
  expect(read).toMatchObject({ lastReadSeq: 1, unreadCount: 2, unreadVersion })
})

test('the position of a read is published before what is left is counted', async () => {
  const users = await world().users('early-ana', 'early-ben')
  const [ana, ben] = users
  const { channelId } = await talk(users)
  const client = centrifugeOf(world(), ana)
  const listener = await listen(client, topics.channel(world().appId, channelId))
  const { marked } = await whileRowLocked(
    world(),
    (sql) => sql`lock table tombstone_counts in access exclusive mode`,
    async () => {
      const marked = ben.reads.mark({ channelId })
      await listener.untilType('read.updated')
      return { marked }
    },
  )
  expect(await marked).toMatchObject({ lastReadSeq: 1, unreadCount: 0 })
  client.disconnect()
})

test('a member whose unread messages take too long to count fails no other read', async () => {
  const users = await world().users('long-ana', 'long-ben')
  const [ana, ben] = users
  const { channelId, ids } = await talk(users, ['one', 'two'])
  await ana.messages.delete({ channelId, messageId: ids[0] ?? '' })
  const others = await Promise.all([1, 2, 3].map(() => talk(users)))
  const { db } = world()
  await db.unsafe(`
    alter table tombstone_counts rename to stored_counts;
    create function is_quick(channel_id uuid) returns boolean language plpgsql as $$
      begin
        if channel_id <> '${channelId}' then return true; end if;
        raise exception 'too long' using errcode = '57014';
      end
    $$;
    create view tombstone_counts as select * from stored_counts where is_quick(channel_id)`)
  const { reads } = together(ben)
  const outcomes = await Promise.allSettled([
    reads.mark.mutate({ channelId: others[0]?.channelId ?? '' }),
    reads.mark.mutate({ channelId, messageId: unknownId }),
    ...others.map(({ channelId }) => reads.mark.mutate({ channelId })),
  ])
  await db.unsafe(`
    drop view tombstone_counts;
    drop function is_quick;
    alter table stored_counts rename to tombstone_counts`)
  expect(outcomes.map(answerIn)).toEqual([1, 'NOT_FOUND', 1, 1, 1])
})
