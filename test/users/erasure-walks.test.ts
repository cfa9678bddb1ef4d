import { topics } from '@parley/contract'
import { selectDeletedIn } from '@parley/server/features/users/erase-names'
import { eraseFromTopic } from '@parley/server/jobs/erase-events'
import { eraseUsers } from '@parley/server/jobs/erasure'
import { createErasurePositions } from '@parley/server/jobs/erasure-context'
import { expect, test } from 'vitest'
import { dump } from '../support/dump.ts'
import { erasureContext } from '../support/erasing.ts'
import { upTo } from '../support/events.ts'
import { whileUserLocked, withoutCleanup } from '../support/locks.ts'
import { useWorld } from '../support/world.ts'

let walked = 0
const onStatement = (statement: string) => {
  if (statement.includes('as is_naming')) walked += 1
}
const world = useWorld({ onStatement })

/** A word in the name of each user who is erased. */
const MARKER = 'Quokka-8d02'
const marked = async () => (await dump(world())).filter((row) => row.includes(MARKER))

/** A channel in which each of this many users has reacted to a message. */
async function populate(name: string, count: number) {
  const host = await world().user(`${name}-host`)
  const ids = upTo(count).map((n) => `${name}-${n}`)
  const users = await Promise.all(ids.map((id) => world().user(id, { name: `Mx ${MARKER}` })))
  const { id: channelId } = await host.channels.create({ type: 'group', name, memberIds: ids })
  const { id: messageId } = await host.messages.send({ channelId, text: 'hello' })
  for (const user of users) {
    await user.reactions.add({ channelId, messageId, emoji: '👍' })
    await user.reactions.remove({ channelId, messageId, emoji: '👍' })
  }
  return { ids, channelId }
}

const eraseAll = (userIds: string[], cut: Parameters<typeof erasureContext>[1]) =>
  eraseUsers(erasureContext(world(), cut), { appId: world().appId, userIds })

type Erased = { name: string; count: number; rows: number; cutAfter?: number }

/** How many steps look through the events of a channel, in an erasure of all of its users. */
async function stepsFor({ name, count, rows, cutAfter }: Erased) {
  const { ids } = await populate(name, count)
  const positions = createErasurePositions()
  await withoutCleanup(world(), async () => {
    await world().backend.users.bulkDelete({ userIds: ids })
    walked = 0
    if (cutAfter !== undefined) {
      const cut = eraseAll(ids, { positions, rows, steps: cutAfter })
      await expect(cut).rejects.toThrow('the turn is over')
      expect(walked).toBeGreaterThan(2)
    }
    await eraseAll(ids, { positions, rows })
  })
  expect(await marked()).toEqual([])
  expect(positions.eventWalks.size).toBe(0)
  return walked
}

test('one walk over the events of a channel serves all users deleted before it', async () => {
  const one = await stepsFor({ name: 'single', count: 1, rows: 200 })
  expect(one).toBeGreaterThan(0)
  expect(await stepsFor({ name: 'many', count: 20, rows: 200 })).toBe(one)
})

test('a walk over events that was cut goes on where it was', async () => {
  const whole = await stepsFor({ name: 'whole', count: 2, rows: 1 })
  const cut = await stepsFor({ name: 'parts', count: 2, rows: 1, cutAfter: 14 })
  expect(cut).toBeLessThanOrEqual(whole + 1)
})

test('a user deleted after a walk over the events of a channel is erased by another', async () => {
  const { ids } = await populate('later', 2)
  const [first = '', later = ''] = ids
  const positions = createErasurePositions()
  const get = () => {
    throw new Error('the turn is over')
  }
  await withoutCleanup(world(), async () => {
    await world().backend.users.delete({ userId: first })
    // The walk for the first user is over, and their messages are still there.
    const cut = eraseAll([first], { positions: { ...positions, get } })
    await expect(cut).rejects.toThrow('the turn is over')
    await world().backend.users.delete({ userId: later })
    await eraseAll([later], { positions })
    await eraseAll([first], { positions })
  })
  expect(await marked()).toEqual([])
})

test('a user locked by others is left for another walk, which waits for the lock', async () => {
  const { appId, pool } = world()
  const { ids, channelId } = await populate('held', 2)
  const [held = '', free = ''] = ids
  const positions = createErasurePositions()
  const context = erasureContext(world(), { positions })
  await withoutCleanup(world(), async () => {
    await world().backend.users.bulkDelete({ userIds: ids })
    const query = { appId, channelId, userIds: ids }
    const users = await pool.use((db) => selectDeletedIn(db, query))
    const found = { appId, channelId, userId: free, state: 'active' as const }
    const due = new Map(users.map(({ userId, deletion }) => [userId, deletion]))
    const walk = { topic: topics.channel(appId, channelId), due }
    await whileUserLocked(world(), held, () => eraseFromTopic(context, found, walk))
    const namesOf = async (id: string) => (await marked()).filter((row) => row.includes(`"${id}"`))
    expect(await namesOf(free)).toEqual([])
    expect((await namesOf(held)).length).toBeGreaterThan(0)
    await eraseUsers(context, { appId, userIds: ids })
    expect(await marked()).toEqual([])
    expect(positions.eventWalks.size).toBe(0)
  })
})
