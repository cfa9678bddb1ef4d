import { type Channel, topics, type UserEvent } from '@parley/contract'
import { expect, test } from 'vitest'
import { userEventsOf } from './support/events.ts'
import { afterAnyHistory, createEverydayFixture, runConcurrently } from './support/histories.ts'
import { centrifugeOf, listen } from './support/realtime.ts'
import { type User, useSharedWorld } from './support/world.ts'

const world = useSharedWorld()
type Settings = Partial<UserEvent<'channel.settings_changed'>>

/** Does something again and again until the work is done, and once after it. */
async function during(work: Promise<unknown>, sample: () => Promise<void>) {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  while (!isDone) await sample()
  await done
  await sample()
}

type Count = { channelId: string; count: number; version: number }

/** Takes the unread counts that users receive, which must not contradict each other. */
function receivedCounts() {
  const known = new Map<string, number>()
  const take = ({ id }: User, { channelId, count, version }: Count) => {
    const key = `${id} ${channelId} ${version}`
    expect({ key, count: known.get(key) ?? count }).toEqual({ key, count })
    known.set(key, count)
  }
  return { known, take }
}

/** Takes the counts in a user's records of channels, whose versions never fall. */
const recordsOf = (user: User, channelIds: string[], take: (user: User, count: Count) => void) => {
  const last = new Map<string, number>()
  return async () => {
    for (const channelId of channelIds) {
      const { unreadCount, unreadVersion } = await user.channels.get({ channelId })
      expect(unreadVersion).toBeGreaterThanOrEqual(last.get(channelId) ?? 0)
      last.set(channelId, unreadVersion)
      take(user, { channelId, count: unreadCount, version: unreadVersion })
    }
  }
}

test('unread counts with the same version are the same, and no version falls', async () => {
  await afterAnyHistory({ length: 60, runs: 1 }, async (history) => {
    const { users, channels, run } = await createEverydayFixture(world())
    const channelIds = channels.map(({ id }) => id)
    const { known, take } = receivedCounts()
    const [ana, ben] = users as [User, User]
    const client = centrifugeOf(world(), ben)
    const { received } = await listen(client, topics.user(world().appId, ben.id))
    const samples = [ana, ben].map((user) => recordsOf(user, channelIds, take))
    const sampleAll = async () => {
      for (const sample of samples) await sample()
    }
    await sampleAll()
    const before = known.size
    await during(runConcurrently(history, 8, run), sampleAll)
    // The history did something.
    expect(known.size).toBeGreaterThan(before)
    client.disconnect()
    for (const { envelope } of received)
      if (envelope.type === 'channel.unread_changed') take(ben, envelope.payload)
  })
})

test('a list has the settings of the events up to its version', async () => {
  const [ana, ben] = await world().users('settings-ana', 'settings-ben')
  const created = ['One', 'Two'].map((name) =>
    ana.channels.create({ type: 'group', name, memberIds: [ben.id] }),
  )
  const channelIds = (await Promise.all(created)).map(({ id }) => id)
  const change = async () => {
    for (let round = 0; round < 6; round++)
      await Promise.all(
        channelIds.map((channelId, index) =>
          ben.channels.updateSettings({
            channelId,
            starred: (round + index) % 2 === 0,
            muted: round % 3 === 0,
          }),
        ),
      )
  }
  const listed: (Channel & { settingsVersion: number })[] = []
  await during(change(), async () => {
    const { channels, settingsVersion } = await ben.channels.list({ limit: 10 })
    listed.push(...channels.map((channel) => ({ ...channel, settingsVersion })))
  })
  const events = await userEventsOf(world(), ben.id)
  for (const { id, starred, muted, settingsVersion } of listed) {
    const last = events.findLast(
      ({ type, offset, payload }) =>
        type === 'channel.settings_changed' &&
        payload.channelId === id &&
        offset <= settingsVersion,
    )
    const { starred: isStarred = false, muted: isMuted = false } = { ...last?.payload } as Settings
    expect([starred, muted]).toEqual([isStarred, isMuted])
  }
  expect(Math.max(...listed.map(({ settingsVersion }) => settingsVersion))).toBe(
    events.at(-1)?.offset,
  )
})

test('the answer to a read has the count that is left, and its version', async () => {
  const [ana, ben] = await world().users('read-ana', 'read-ben')
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: [ben.id],
  })
  const { id: messageId } = await ana.messages.send({ channelId, text: 'one' })
  await ana.messages.send({ channelId, text: 'two' })
  const before = await ben.channels.get({ channelId })
  const marked = await ben.reads.mark({ channelId, messageId })
  const after = await ben.channels.get({ channelId })
  expect(marked).toMatchObject({ unreadCount: 0, unreadVersion: after.unreadVersion })
  expect(after.unreadVersion).toBeGreaterThan(before.unreadVersion)
})

test('an unread count gets a higher version by leaving, and by joining again', async () => {
  const [ana, ben] = await world().users('leave-ana', 'leave-ben')
  const { id: channelId } = await ana.channels.create({
    type: 'public',
    name: 'Talk',
    memberIds: [ben.id],
  })
  for (const text of ['one', 'two', 'three']) await ana.messages.send({ channelId, text })
  await ben.reads.mark({ channelId })
  const version = async () => (await ben.channels.get({ channelId })).unreadVersion
  const asMember = await version()
  await ben.members.remove({ channelId, userId: ben.id })
  const asReader = await version()
  expect(asReader).toBeGreaterThan(asMember)
  await ben.members.join({ channelId })
  expect(await version()).toBeGreaterThan(asReader)
})

/** All totals that the server answers with, in the order in which they were asked for. */
function totalsOf(user: User) {
  const answers: { count: number; version: number }[] = []
  const take = (count = Number.NaN, version = Number.NaN) => void answers.push({ count, version })
  const ask = async () => {
    const { count, version } = await user.reads.unreadCount()
    take(count, version)
    const listed = await user.channels.list({ limit: 1, total: true })
    take(listed.totalUnread, listed.totalUnreadVersion)
    const pulled = await user.sync.pull({ channels: {}, total: true })
    take(pulled.totalUnread, pulled.totalUnreadVersion)
  }
  return { answers, ask }
}

test('the unread total with the highest version is right, whichever comes last', async () => {
  await afterAnyHistory({ length: 60, runs: 1 }, async (history) => {
    const { users, run } = await createEverydayFixture(world())
    const [ana, ben] = users as [User, User]
    const client = centrifugeOf(world(), ben)
    const listener = await listen(client, topics.user(world().appId, ben.id))
    const { answers, ask } = totalsOf(ben)
    await during(runConcurrently(history, 8, run), ask)
    const { id: channelId } = await ana.channels.create({
      type: 'group',
      name: 'News',
      memberIds: [ben.id],
    })
    await ana.messages.send({ channelId, text: 'the last one' })
    const { count: right, version } = await ben.reads.unreadCount()
    const events = () =>
      listener.received.flatMap(({ envelope }) =>
        envelope.type === 'channel.total_unread_changed' ? [envelope.payload] : [],
      )
    const last = answers.at(-1)?.version ?? 0
    const isLast = ({ count, version = 0 }: { count: number; version?: number | undefined }) =>
      count === right && version > last
    await listener.until(() => events().some(isLast))
    client.disconnect()
    const versions = answers.map((answer) => answer.version)
    expect(versions).toEqual(versions.toSorted((a, b) => a - b))
    expect(version).toBeGreaterThan(last)
    // Answers of the same version are the same, and events are in order.
    const counts = new Map(answers.map((answer) => [answer.version, answer.count]))
    for (const answer of answers) expect(counts.get(answer.version)).toBe(answer.count)
    const sent = events().map((event) => event.version ?? 0)
    expect(sent).toEqual(sent.toSorted((a, b) => a - b))
    expect(sent[0]).toBeGreaterThan(0)
    const top = Math.max(...sent, ...versions)
    expect(events().findLast((event) => event.version === top)?.count).toBe(right)
  })
})
