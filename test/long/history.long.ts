import { topics } from '@parley/contract'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { anyHistory, deedNames, inTurns, openStage, type Step } from '../support/deeds.ts'
import { centrifugeOf, listen } from '../support/realtime.ts'
import { replicaOfChannel, replicaOfUser, withFaces } from '../support/replica.ts'
import { createWorld } from '../support/world.ts'

/** SEED=… repeats the histories of a run, RUNS=… makes more of them. */
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env.RUNS ?? 12)

test('after any history of all operations on two nodes: state fetched before + events heard = state fetched after', async () => {
  console.info(`seed ${seed}`)
  const done = new Set<string>()
  await fc.assert(
    fc.asyncProperty(anyHistory(260), async (history) => {
      const carriedOut = await holds(history).catch((error: unknown) => {
        // Before what the histories of a failure make of it.
        console.error(error)
        throw error
      })
      for (const { does } of carriedOut) done.add(does)
    }),
    { seed, numRuns, endOnFailure: true },
  )
  expect([...done].sort()).toEqual([...deedNames].sort())
}, 600_000)

/** Answers what was carried out while they listened. */
async function holds(history: Step[]) {
  const world = await createWorld()
  const other = await createWorld({ databaseUrl: world.databaseUrl })
  const { users, witness, channelIds, live } = await openStage([world, other])
  const eves = centrifugeOf(other, witness)
  const theirs = users.map((user, place) => centrifugeOf(place % 2 ? world : other, user))
  const own = (id: string) => topics.user(world.appId, id)
  try {
    await inTurns(history.slice(0, 100), 8, live)
    const evesOwn = await listen(eves, own(witness.id))
    const rooms = await Promise.all(
      channelIds.map(async (channelId) => ({
        listener: await listen(eves, topics.channel(world.appId, channelId)),
        replica: await replicaOfChannel(witness, channelId),
      })),
    )
    const lists = await Promise.all(
      users.map(async (user, place) => ({
        user,
        listener: await listen(theirs[place] as (typeof theirs)[number], own(user.id)),
        replica: await replicaOfUser(user),
      })),
    )
    const done = await inTurns(history.slice(100), 8, live)
    await world.cleanup.run()

    // A new face is told to those who share a channel with it at that moment.
    const constant = new Set(rooms.flatMap(({ listener, replica }) => {
      const left = listener.received.flatMap(({ envelope }) => (envelope.type === 'channel.member_left' ? [envelope.payload.userId] : []))
      return Object.keys(replica.after([]).members).filter((id) => !left.includes(id))
    })) // biome-ignore format: short
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
        const known = { heard: evesOwn.received, constant }
        expect(withFaces(replica.after(listener.received), known)).toEqual(
          withFaces(await replica.fetched(), known),
        )
      })
    }
    for (const { user, listener, replica } of lists)
      await soon(async () =>
        expect(replica.after(listener.received), user.id).toEqual(await replica.fetched()),
      )
    return done
  } finally {
    for (const client of [eves, ...theirs]) client.disconnect()
    await other.stop()
    await world.stop()
  }
}

/** Counts and faces are told a moment later. */
const soon = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 8_000, interval: 200 })
