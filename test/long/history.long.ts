import { topics } from '@parley/contract'
import type { Centrifuge } from 'centrifuge'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { actionNames, RECREATED_ID } from '../support/actions.ts'
import { anyHistory, createFixture, runConcurrently, type Step } from '../support/histories.ts'
import { centrifugeOf, listen, type TopicListener } from '../support/realtime.ts'
import { replicaOfChannel, replicaOfUser, withProfiles } from '../support/replica.ts'
import { createWorld } from '../support/world.ts'

/** SEED=… repeats the histories of a run, RUNS=… makes more of them. */
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env.RUNS ?? 12)

test('fetched state plus received events equals state fetched later', async () => {
  console.info(`seed ${seed}`)
  const done = new Set<string>()
  await fc.assert(
    fc.asyncProperty(anyHistory(260), async (history) => {
      const carriedOut = await expectConvergence(history).catch((error: unknown) => {
        // Printed here, before fast-check prints the whole history.
        console.error(error)
        throw error
      })
      for (const { action } of carriedOut) done.add(action)
    }),
    { seed, numRuns, endOnFailure: true },
  )
  expect([...done].sort()).toEqual([...actionNames].sort())
}, 600_000)

/** Answers the steps that were carried out while the clients listened. */
async function expectConvergence(history: Step[]) {
  const world = await createWorld()
  const other = await createWorld({ databaseUrl: world.databaseUrl })
  const observer = await world.user('eve')
  const userIds: [string, ...string[]] = ['ana', 'ben', 'cem', 'dora', RECREATED_ID]
  const { users, channels, run } = await createFixture([world, other], {
    userIds,
    channels: (['public', 'public', 'group'] as const).map((type, index) => ({
      type,
      name: `Room ${index}`,
      memberIds: [observer.id, ...userIds],
    })),
  })
  const readers = users.filter(({ id }) => id !== RECREATED_ID)
  const observing = centrifugeOf(other, observer)
  const clients = readers.map((user, index) => centrifugeOf(index % 2 ? world : other, user))
  const userTopic = (id: string) => topics.user(world.appId, id)
  try {
    await runConcurrently(history.slice(0, 100), 8, run)
    const observerTopic = await listen(observing, userTopic(observer.id))
    const rooms = await Promise.all(
      channels.map(async ({ id }) => ({
        listener: await listen(observing, topics.channel(world.appId, id)),
        replica: await replicaOfChannel(observer, id),
      })),
    )
    const lists = await Promise.all(
      readers.map(async (user, index) => ({
        user,
        listener: await listen(clients[index] as Centrifuge, userTopic(user.id)), // one for each
        replica: await replicaOfUser(user),
      })),
    )
    const done = await runConcurrently(history.slice(100), 8, run)
    await world.cleanup.run()

    // A new profile is sent to those who share a channel with the user at that moment.
    const constant = new Set(rooms.flatMap(constantMembers))
    for (const { listener, replica } of rooms) {
      const { rev } = await replica.fetched()
      await listener.until(
        (received) => rev === replica.rev || received.some(({ offset }) => offset === rev),
      )
      const offsets = listener.received.flatMap(({ offset }) =>
        offset !== undefined && offset > replica.rev ? [offset] : [],
      )
      expect(offsets).toEqual(
        Array.from({ length: rev - replica.rev }, (_, index) => replica.rev + 1 + index),
      )
      await soon(async () => {
        const known = { received: observerTopic.received, constant }
        expect(withProfiles(replica.after(listener.received), known)).toEqual(
          withProfiles(await replica.fetched(), known),
        )
      })
    }
    for (const { user, listener, replica } of lists)
      await soon(async () =>
        expect(replica.after(listener.received), user.id).toEqual(await replica.fetched()),
      )
    return done
  } finally {
    for (const client of [observing, ...clients]) client.disconnect()
    await other.stop()
    await world.stop()
  }
}

type Room = { listener: TopicListener; replica: Awaited<ReturnType<typeof replicaOfChannel>> }

/** The members who have not left since the replica was made. */
function constantMembers({ listener, replica }: Room) {
  const left = listener.received.flatMap(({ envelope }) =>
    envelope.type === 'channel.member_left' ? [envelope.payload.userId] : [],
  )
  return Object.keys(replica.after([]).members).filter((id) => !left.includes(id))
}

/** Counts and profiles are sent a moment later: in time for a busy machine. */
const soon = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 40_000, interval: 200 })
