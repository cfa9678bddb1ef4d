import type { Db } from '@parley/server/db/client'
import type { PresenceNote } from '@parley/server/realtime/broker'
import { KnownPresence } from '@parley/server/realtime/known-presence'
import { expect, test } from 'vitest'
import { ana } from './fixture.ts'

const change = (isOnline: boolean): PresenceNote => ({
  ...{ kind: 'presence', ...ana, lastActiveAt: null },
  isOnline,
})

/** What a comparison tells while ana is stored as online; `onSearch` is called at each query. */
async function compareWith(onSearch: (known: KnownPresence, query: number) => void) {
  const told: boolean[] = []
  let queries = 0
  const use = async () => {
    onSearch(known, queries)
    return [[ana], [{ ...ana, lastActiveAt: null }]][queries++]
  }
  const known: KnownPresence = new KnownPresence({
    db: { use } as unknown as Db, // what it calls of it
    notify: ({ isOnline }) => void told.push(isOnline),
  })
  await known.compare()
  return told
}

test('a comparison tells who is online and was not told to be', async () => {
  expect(await compareWith(() => {})).toEqual([true])
})

test.each([0, 1])(
  'a departure that is noted while presence is compared (query %i) is not undone',
  async (query) => {
    const told = await compareWith((known, current) => {
      if (current === query) known.record(change(false))
    })
    expect(told).toEqual([])
  },
)

test('a change that is lost during a comparison is left to the next one', async () => {
  let compared: KnownPresence | undefined
  await compareWith((known, query) => {
    if (query === 0) return
    known.record(change(false))
    known.handleLost(change(false))
    compared = known
  })
  expect(compared?.hasLost).toBe(true)
})
