import { topics } from '@parley/contract'
import { runInTransaction } from '@parley/server/core/context'
import type { StoredEvent } from '@parley/server/core/event-buffer'
import { DeadlineError } from '@parley/server/db/client'
import { expect, test } from 'vitest'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** Emits an event in a transaction whose deadline passes after so many checks of it. */
async function emitWithDeadline(userId: string, checks: number, writesLast = true) {
  const { appId, pool, db } = world()
  const published: string[] = []
  const publisher = {
    publish: (events: StoredEvent[]) => void published.push(...events.map(({ type }) => type)),
    broadcast: () => {},
  }
  let left = checks
  const signal = {
    throwIfAborted: () => {
      left -= 1
      if (left < 0) throw new DeadlineError()
    },
  }
  const emitting = pool.use((connection) =>
    runInTransaction(connection, { appId, signal, publisher, writesLast }, async (ctx) =>
      ctx.emitToUser(userId, 'channel.removed', { channelId: crypto.randomUUID() }),
    ),
  )
  const [outcome] = await Promise.allSettled([emitting])
  const stored = await db<{ type: string }[]>`
    select type
    from events
    where topic = ${topics.user(appId, userId)}`
  return { status: outcome.status, published, stored: stored.map(({ type }) => type) }
}

test('events are published at once when their deadline passes during the commit', async () => {
  expect(await emitWithDeadline('ana', 1)).toEqual({
    status: 'fulfilled',
    published: ['channel.removed'],
    stored: ['channel.removed'],
  })
})

test.each([true, false])(
  'a deadline that passes before the commit leaves no event, whether writes come last: %s',
  async (writesLast) => {
    expect(await emitWithDeadline(`ben-${writesLast}`, 0, writesLast)).toEqual({
      status: 'rejected',
      published: [],
      stored: [],
    })
  },
)
