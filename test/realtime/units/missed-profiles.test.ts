import { randomUUID } from 'node:crypto'
import { createMetrics } from '@parley/server/core/metrics'
import type { Db } from '@parley/server/db/client'
import type { ProfileChange } from '@parley/server/realtime/broker/index'
import { MissedProfiles } from '@parley/server/realtime/fanout/missed-profiles'
import { expect, test } from 'vitest'
import { upTo } from '../../support/events.ts'
import { keptPerCall } from '../../support/heap.ts'
import { ana } from './fixture.ts'

const stored = [{ ...ana, name: 'Old', image: null, version: 7, isRecent: true }]
const renamed: ProfileChange = {
  appId: ana.appId,
  user: { id: ana.userId, name: 'New', image: null },
}

/** The profiles that are sent once a search finds them; `search` decides when it answers. */
function openProfiles(search: () => Promise<unknown[]>) {
  const names: string[] = []
  const versions: unknown[] = []
  const problems: string[] = []
  const metrics = createMetrics()
  const profiles = new MissedProfiles({
    db: { use: search } as unknown as Db, // what it calls of it
    metrics,
    report: (error, problem) => void problems.push(`${problem}: ${error}`),
    notify: ({ user, version }) => {
      names.push(user.name)
      versions.push(version)
    },
  })
  const givenUp = async () => (await metrics.profilesGivenUp.get()).values[0]?.value
  return { profiles, names, versions, problems, givenUp }
}

test('a profile found while a note of it arrives is not sent after the newer one', async () => {
  const { profiles, names } = openProfiles(async () => {
    profiles.record(renamed)
    return stored
  })
  profiles.missed(0)
  await profiles.catchUp()
  expect(names).toEqual([])
})

test('a change that was sent before a gap does not hide a later one', async () => {
  const { profiles, names } = openProfiles(async () => stored)
  profiles.record(renamed)
  profiles.missed(0)
  await profiles.catchUp()
  expect(names).toEqual(['Old'])
})

test('a change that was sent during a search does not hide a later one', async () => {
  let isFirst = true
  const { profiles, names } = openProfiles(async () => {
    if (isFirst) profiles.record(renamed)
    isFirst = false
    return stored
  })
  profiles.missed(0)
  await profiles.catchUp()
  profiles.missed(0)
  await profiles.catchUp()
  expect(names).toEqual(['Old'])
})

test('users whose changes were sent take no memory', async () => {
  const { profiles } = openProfiles(async () => [])
  profiles.missed(0)
  await profiles.catchUp()
  const rename = () => profiles.record({ ...renamed, user: { ...renamed.user, id: randomUUID() } })
  expect(await keptPerCall(30, { call: rename })).toBeLessThan(30)
})

test('profiles are searched once after each gap, and again if that failed', async () => {
  let isFailing = true
  const { profiles, names, versions } = openProfiles(async () => {
    if (isFailing) throw new Error('lost')
    return stored
  })
  await profiles.catchUp()
  profiles.missed(0)
  await expect(profiles.catchUp()).rejects.toThrow('lost')
  isFailing = false
  await profiles.catchUp()
  await profiles.catchUp()
  expect([names, versions]).toEqual([['Old'], [7]])
})

test('a change that could not be sent is sent again, also after a failed search', async () => {
  let isFailing = true
  const { profiles, names } = openProfiles(async () => {
    if (isFailing) throw new Error('lost')
    return stored
  })
  profiles.handleLost(renamed)
  await expect(profiles.catchUp()).rejects.toThrow('lost')
  isFailing = false
  await profiles.catchUp()
  await profiles.catchUp()
  expect(names).toEqual(['Old'])
})

test('many changed profiles are sent once each, and none is left out', async () => {
  const users = upTo(10_001).map((n) => ({ ...ana, name: `${n}`, image: null, changedAt: `${n}` }))
  const pages = [users.slice(0, 10_000), users.slice(10_000)]
  const { profiles, names } = openProfiles(async () => pages.shift() ?? [])
  profiles.missed(0)
  await profiles.catchUp()
  expect(names).toEqual(users.map(({ name }) => name))
})

test('a change that could not be sent for too long is given up, logged and counted', async () => {
  let isRecent = true
  const { profiles, names, problems, givenUp } = openProfiles(async () =>
    stored.map((row) => ({ ...row, isRecent })),
  )
  profiles.handleLost(renamed)
  await profiles.catchUp()
  expect([names, problems, await givenUp()]).toEqual([['Old'], [], 0])
  isRecent = false
  profiles.handleLost(renamed)
  await profiles.catchUp()
  // Not once more after a later one, of which there was no more to give up.
  isRecent = true
  profiles.handleLost(renamed)
  await profiles.catchUp()
  expect(names).toEqual(['Old', 'Old'])
  expect(problems).toEqual(['changes of profiles given up: Error: of 1 users'])
  expect(await givenUp()).toBe(1)
})

test('the oldest of too many changes that could not be sent are given up', async () => {
  let isFailing = true
  const searched = upTo(10_000)
  const { profiles, names, problems, givenUp } = openProfiles(async () => {
    if (isFailing) throw new Error('lost')
    return searched.map((n) => ({ ...ana, userId: `${n}`, name: `${n}`, isRecent: true }))
  })
  const lose = (n: number) =>
    profiles.handleLost({ ...renamed, user: { ...renamed.user, id: `${n}` } })
  for (const n of upTo(10_002)) lose(n)
  lose(10_002)
  await expect(profiles.catchUp()).rejects.toThrow('lost')
  lose(10_003)
  isFailing = false
  await profiles.catchUp()
  expect(names).toHaveLength(10_000)
  expect(problems).toEqual(['changes of profiles given up: Error: of 3 users'])
  expect(await givenUp()).toBe(3)
})
