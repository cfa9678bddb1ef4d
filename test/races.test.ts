import { isChatError } from '@parley/client'
import { expect, test } from 'vitest'
import { channelEventsOf, upTo } from './support/events.ts'
import { insertUsers } from './support/inserted.ts'
import { whileLocked, withoutCleanup } from './support/locks.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

const talk = async (type: 'group' | 'public' = 'group') => {
  const [ana, ben, cem] = await world().users('ana', 'ben', 'cem')
  const { id: channelId } = await ana.channels.create({
    type,
    name: 'Talk',
    memberIds: ['ben', 'cem'],
  })
  return { ana, ben, cem, channelId }
}

/** The code of a refusal, or `done`. Any other failure fails the test. */
const outcome = (call: Promise<unknown>) =>
  call.then(
    () => 'done',
    (error) => (isChatError(error) ? error.code : Promise.reject(error)),
  )

type MessageRow = { seq: number; rev: number; userId: string; deletedAt: string | null }
const rowsOf = (channelId: string) => world().db<MessageRow[]>`
  select seq, rev, user_id, deleted_at
  from messages
  where channel_id = ${channelId}
  order by seq`

test('concurrent sends get seq 1 to n without a gap, and every rev has one event', async () => {
  const extras = await insertUsers(world(), 'sender', 8)
  const { ana, channelId } = await talk()
  await ana.members.add({ channelId, userIds: extras })
  const senders = await Promise.all(extras.map((id) => world().user(id)))
  const sent = await Promise.all(
    upTo(15).flatMap((n) =>
      senders.map((sender) => sender.messages.send({ channelId, text: `${n}` })),
    ),
  )
  expect(sent.map(({ seq }) => seq).sort((a, b) => a - b)).toEqual(upTo(120))
  const { rev } = await ana.channels.get({ channelId })
  expect((await channelEventsOf(world(), channelId)).map(({ offset }) => offset)).toEqual(upTo(rev))
  expect((await rowsOf(channelId)).map(({ rev }) => rev)).toEqual(
    upTo(120).map((seq) => rev - 120 + seq),
  )
  for (const sender of senders)
    expect((await sender.channels.get({ channelId })).unreadCount).toBe(105)
})

test('messages of one user keep their order beside concurrent sends of others', async () => {
  const { ana, ben, cem, channelId } = await talk()
  await Promise.all(
    [ana, ben, cem].map(async (user) => {
      for (const n of upTo(15)) await user.messages.send({ channelId, text: `${n}` })
    }),
  )
  const { messages } = await ana.messages.list({ channelId })
  for (const id of ['ana', 'ben', 'cem'])
    expect(messages.filter(({ userId }) => userId === id).map(({ text }) => text)).toEqual(
      upTo(15).map(String),
    )
})

test('concurrent replies are all counted', async () => {
  const { ana, ben, cem, channelId } = await talk()
  const root = await ana.messages.send({ channelId, text: 'root' })
  await Promise.all(
    upTo(8).flatMap(() =>
      [ana, ben, cem].map((user) =>
        user.messages.send({ channelId, text: 'reply', parentId: root.id }),
      ),
    ),
  )
  expect((await ana.messages.get({ channelId, messageId: root.id })).replyCount).toBe(24)
  const counts = (await channelEventsOf(world(), channelId)).flatMap(({ payload }) =>
    payload.parent ? [(payload.parent as { replyCount: number }).replyCount] : [],
  )
  expect(counts).toEqual(upTo(24))
})

test('a deleted user acquires nothing, even before the node knows', async () => {
  const { ana, channelId } = await talk('public')
  const { id: messageId } = await ana.messages.send({ channelId, text: 'hi' })
  const { id: workspaceId } = await ana.workspaces.create({ name: 'Acme', type: 'team' })
  const { token } = await ana.invites.create({ workspaceId })
  const dan = await world().user('dan')
  await dan.members.join({ channelId })
  const open = await ana.channels.create({ type: 'public', name: 'Open' })
  await dan.channels.list()
  const { db, appId } = world()
  await db`update users set deleted_at = now() where app_id = ${appId} and id = 'dan'`
  const calls = [
    dan.channels.create({ type: 'group', name: 'Talk', memberIds: ['ana'] }),
    dan.members.join({ channelId: open.id }),
    dan.messages.send({ channelId, text: 'hi' }),
    dan.reactions.add({ channelId, messageId, emoji: '👍' }),
    dan.workspaces.create({ name: 'Mine', type: 'team' }),
    dan.invites.accept({ token }),
    dan.devices.create({ platform: 'ios', provider: 'apns', token: 'dan' }),
    dan.preferences.update({ mentions: false }),
  ]
  for (const result of await Promise.all(calls.map(outcome))) expect(result).toBe('INVALID_TOKEN')
})

test('a deletion by the backend takes its turn among the writes of users', async () => {
  const { ana, ben, channelId } = await talk()
  for (const round of upTo(4)) {
    const ref = { channelId, messageId: (await ana.messages.send({ channelId, text: 'x' })).id }
    const isContested = round > 2
    const calls = [
      () => world().backend.messages.delete(ref),
      () => (isContested ? ana.messages.delete(ref) : ben.messages.send({ channelId, text: 'y' })),
    ]
    if (round % 2) calls.reverse()
    const { results } = await whileLocked(world(), channelId, async (waiting) => {
      const results = []
      for (const call of calls) {
        results.push(outcome(call()))
        await waiting(results.length)
      }
      return { results: Promise.all(results) }
    })
    expect(await results).toEqual(['done', isContested ? 'NOT_FOUND' : 'done'])
  }
  const { rev } = await ana.channels.get({ channelId })
  const events = await channelEventsOf(world(), channelId)
  expect(events.map(({ offset }) => offset)).toEqual(upTo(rev))
  // Each deletion, and what was the event of the message.
  expect(events.filter(({ type }) => type === 'message.deleted')).toHaveLength(8)
})

test('a deletion wins over a concurrent edit, whichever comes first', async () => {
  const { ana, channelId } = await talk()
  for (const round of upTo(15)) {
    const ref = {
      channelId,
      messageId: (await ana.messages.send({ channelId, text: 'secret' })).id,
    }
    const calls = [
      () => ana.messages.delete(ref),
      () => ana.messages.edit({ ...ref, text: 'secret edit' }),
    ]
    const [first, second] = await Promise.all(
      (round % 2 ? calls : calls.reverse()).map((call) => outcome(call())),
    )
    expect(['done', 'NOT_FOUND']).toContain(round % 2 ? second : first)
    expect(round % 2 ? first : second).toBe('done')
  }
  expect((await rowsOf(channelId)).every(({ deletedAt }) => deletedAt)).toBe(true)
  expect(await world().db`select from events where envelope like '%secret%'`).toHaveLength(0)
})

test('no message of a removed member is stored after a concurrent removal', async () => {
  for (const round of upTo(6)) {
    const { ana, ben, channelId } = await talk()
    await ben.messages.send({ channelId, text: 'warm' })
    const calls = [
      () => ana.members.remove({ channelId, userId: 'ben' }),
      () => ben.messages.send({ channelId, text: 'last word' }),
    ]
    if (round % 2) calls.reverse()
    const results = await whileLocked(world(), channelId, async (waiting) => {
      const first = outcome(calls[0]?.() ?? Promise.reject())
      await waiting(1)
      const second = outcome(calls[1]?.() ?? Promise.reject())
      await waiting(2)
      return { first, second }
    })
    const [removed, sent] =
      round % 2
        ? [await results.second, await results.first]
        : [await results.first, await results.second]
    expect(removed).toBe('done')
    expect(['done', 'FORBIDDEN']).toContain(sent)
    const left = (await channelEventsOf(world(), channelId)).find(
      ({ type }) => type === 'channel.member_left',
    )
    const after = (await rowsOf(channelId)).filter(({ rev }) => rev > (left?.offset ?? 0))
    expect(after).toEqual([])
    expect(await rowsOf(channelId)).toHaveLength(sent === 'done' ? 2 : 1)
  }
})

test('concurrent reactions are all in the last event', async () => {
  const { ana, ben, cem, channelId } = await talk()
  const ref = { channelId, messageId: (await ana.messages.send({ channelId, text: 'hi' })).id }
  const calls = await whileLocked(world(), channelId, async (waiting) => {
    const calls = [
      ben.reactions.add({ ...ref, emoji: '👍' }),
      cem.reactions.add({ ...ref, emoji: '👍' }),
      ana.reactions.add({ ...ref, emoji: '🎉' }),
    ]
    await waiting(3)
    return { calls }
  })
  await Promise.all(calls.calls)
  const emitted = (await channelEventsOf(world(), channelId))
    .filter(({ type }) => type === 'reaction.added')
    .map(({ payload }) => payload.reactions as { count: number }[])
  expect(emitted.map((reactions) => reactions.reduce((sum, { count }) => sum + count, 0))).toEqual([
    1, 2, 3,
  ])
  const { reactions } = await ana.messages.get(ref)
  expect(emitted.at(-1)).toEqual(reactions.map((reaction) => ({ ...reaction, own: false })))
})

test('a send that waits while the channel is deleted is not found and stores nothing', async () => {
  const { ana, ben, channelId } = await talk()
  await ben.messages.send({ channelId, text: 'warm' })
  await withoutCleanup(world(), async () => {
    const calls = await whileLocked(world(), channelId, async (waiting) => {
      const deleted = outcome(ana.channels.delete({ channelId }))
      await waiting(1)
      const sent = outcome(ben.messages.send({ channelId, text: 'late' }))
      await waiting(2)
      return { deleted, sent }
    })
    expect([await calls.deleted, await calls.sent]).toEqual(['done', 'NOT_FOUND'])
    expect(await rowsOf(channelId)).toHaveLength(1)
    expect((await channelEventsOf(world(), channelId)).at(-1)?.type).toBe('channel.deleted')
  })
})

test('a channel with members has an owner, however many leave at once', async () => {
  for (const round of upTo(12)) {
    const { ana, ben, cem, channelId } = await talk()
    if (round % 2) await ana.members.update({ channelId, userId: 'ben', role: 'owner' })
    expect(
      await Promise.all([ana, ben].map((user) => outcome(user.members.leave({ channelId })))),
    ).toEqual(['done', 'done'])
    expect((await cem.members.list({ channelId })).members).toMatchObject([
      { userId: 'cem', role: 'owner' },
    ])
    expect((await cem.channels.get({ channelId })).memberCount).toBe(1)
  }
})

test('of two owners who step down at once, one stays owner', async () => {
  const { ana, ben, channelId } = await talk()
  for (const _ of upTo(6)) {
    const owner = (await ana.channels.get({ channelId })).role === 'owner' ? ana : ben
    await owner.members.update({ channelId, userId: owner === ana ? 'ben' : 'ana', role: 'owner' })
    const results = await Promise.all(
      [ana, ben].map((user) =>
        outcome(user.members.update({ channelId, userId: user.id, role: 'member' })),
      ),
    )
    expect(results.sort()).toEqual(['FORBIDDEN', 'done'])
  }
})

test('of two owners who remove each other at once, one is removed', async () => {
  const { ana, ben, cem, channelId } = await talk()
  await ana.members.update({ channelId, userId: 'ben', role: 'owner' })
  const results = await Promise.all([
    outcome(ana.members.remove({ channelId, userId: 'ben' })),
    outcome(ben.members.remove({ channelId, userId: 'ana' })),
  ])
  expect(results.sort()).toEqual(['FORBIDDEN', 'done'])
  expect(
    (await cem.members.list({ channelId })).members.filter(({ role }) => role === 'owner'),
  ).toHaveLength(1)
})

test('concurrent pins never exceed the limit', async () => {
  const { ana, ben, channelId } = await talk()
  const ids = (
    await Promise.all(upTo(104).map((n) => ana.messages.send({ channelId, text: `${n}` })))
  ).map(({ id }) => id)
  for (const messageId of ids.slice(0, 98)) await ana.pins.pin({ channelId, messageId })
  const results = await Promise.all(
    ids
      .slice(98)
      .map((messageId, index) =>
        outcome((index % 2 ? ana : ben).pins.pin({ channelId, messageId })),
      ),
  )
  expect(results.sort()).toEqual([...Array(4).fill('VALIDATION_ERROR'), 'done', 'done'])
  expect((await ana.pins.list({ channelId })).messages).toHaveLength(100)
})

test('joining twenty times at once is the same as joining once', async () => {
  const { channelId } = await talk('public')
  const dora = await world().user('dora')
  await Promise.all(
    upTo(20).map((n) =>
      n % 2 ? dora.members.join({ channelId }) : dora.messages.send({ channelId, text: 'hi' }),
    ),
  )
  expect(await dora.channels.get({ channelId })).toMatchObject({
    memberCount: 4,
    lastMessage: { seq: 10 },
  })
  expect(
    (await channelEventsOf(world(), channelId)).filter(
      ({ type, payload }) => type === 'channel.member_joined' && payload.userId === 'dora',
    ),
  ).toHaveLength(1)
})

test('each message to a public channel joins it again, if the author has left', async () => {
  const { channelId } = await talk('public')
  const dora = await world().user('dora')
  for (const n of upTo(20)) {
    const sent = outcome(dora.messages.send({ channelId, text: `${n}` }))
    let left = ''
    while (left !== 'done') left = await outcome(dora.members.leave({ channelId }))
    expect(await sent).toBe('done')
  }
  let isIn = false
  for (const { type, payload } of await channelEventsOf(world(), channelId)) {
    if (type === 'message.new') expect(isIn).toBe(true)
    if (payload.userId === 'dora') isIn = type === 'channel.member_joined'
  }
  expect(await rowsOf(channelId)).toHaveLength(20)
})

test('adding the same users to many channels at once causes no deadlock', async () => {
  const extras = await insertUsers(world(), 'many', 40)
  const ana = await world().user('ana')
  const channels = await Promise.all(
    upTo(8).map((n) => ana.channels.create({ type: 'group', name: `Many ${n}` })),
  )
  const results = await Promise.all(
    channels.map(({ id: channelId }, n) =>
      outcome(ana.members.add({ channelId, userIds: n % 2 ? extras : [...extras].reverse() })),
    ),
  )
  expect(new Set(results)).toEqual(new Set(['done']))
  const streams = await world().db<{ userId: string }[]>`
    select user_id
    from user_streams
    where user_id = any(${extras}) and last_offset = 8`
  expect(streams).toHaveLength(40)
})
