import type { UserRef } from '@parley/server/core/user-ref'
import type { Db } from '@parley/server/db/client'
import { createCoMembers } from '@parley/server/realtime/fanout/co-members'
import { onceAPause } from '@parley/server/realtime/fanout/once-a-pause'
import { expect, test } from 'vitest'
import { upTo } from '../../support/events.ts'
import { appId, pass, stopTimers } from '../hub/fixture.ts'

const arrivals = (from: number, count: number): UserRef[] =>
  Array.from({ length: count }, (_, index) => ({ appId, userId: `user${from + index}` }))

/** Looks up the co-members of users who arrive, and counts the statements that it takes. */
function countedLookups({ pauseMs }: { pauseMs: number }) {
  stopTimers()
  let statements = 0
  const use = async () => {
    statements += 1
    return upTo(100).map(() => [])
  }
  const db = { use } as unknown as Db // as much of one as is used
  const coMembersOf = createCoMembers({ db, nodeId: null, pauseMs })
  const arrive = async (users: UserRef[]) => {
    for (const user of users) void coMembersOf(user)
    await pass()
  }
  return { arrive, statements: () => statements }
}

test('users who arrive just after many others are announced by one statement', async () => {
  const { arrive, statements } = countedLookups({ pauseMs: 1_000 })
  await arrive(arrivals(0, 1))
  await arrive(arrivals(1, 100))
  expect(statements()).toBe(2)
  await arrive(arrivals(101, 1))
  await pass(900)
  await arrive(arrivals(102, 1))
  expect(statements()).toBe(2)
  await pass(100)
  expect(statements()).toBe(3)
})

test('only the first of many changes of a user is looked up at once', async () => {
  const { arrive, statements } = countedLookups({ pauseMs: 60_000 })
  for (let change = 0; change < 3; change++) await arrive(arrivals(0, 1))
  expect(statements()).toBe(1)
})

test('those who ask within a pause share an answer, and nobody later gets it', async () => {
  let readings = 0
  const read = async () => ++readings
  const answer = onceAPause(read, { pauseMs: 10, keyOf: (name: string) => name, entries: 9 })
  expect(await answer('ana')).toBe(1)
  expect(await Promise.all([answer('ana'), answer('ben'), answer('ana')])).toEqual([3, 2, 3])
  expect(await Promise.all([answer('ana'), answer('ana')])).toEqual([4, 4])
  expect(await answer('ana')).toBe(5)
})
