import { expect, test } from 'vitest'
import { insertUsers } from './support/inserted.ts'
import { forbidden, refusals } from './support/refusal.ts'
import { rowsReadBy } from './support/rows-read.ts'
import { useWorld } from './support/world.ts'

const world = useWorld({
  poolSize: 1,
  timings: { reconcileMs: 1_000_000, beatMs: 1_000_000, lookMs: 1_000_000 },
})

test('who may not read a channel makes PostgreSQL read nothing of it', async () => {
  const [ana, eve] = await world().users('ana', 'eve')
  const memberIds = await insertUsers(world(), 'member-', 30)
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk', memberIds })
  for (const text of ['one', 'two', 'three', 'four']) await ana.messages.send({ channelId, text })
  const { id: messageId } = await ana.messages.send({ channelId, text: 'pinned' })
  await ana.pins.pin({ channelId, messageId })
  const ref = { channelId, messageId }
  const calls = [
    () => eve.messages.list({ channelId }),
    () => eve.messages.list({ channelId, before: messageId }),
    () => eve.messages.replies(ref),
    () => eve.messages.get(ref),
    () => eve.pins.list({ channelId }),
    () => eve.channels.get({ channelId }),
    () => eve.members.list({ channelId }),
    () => eve.receipts.get(ref),
    () => eve.receipts.query({ channelId, messageIds: [messageId] }),
    () => eve.receipts.status({ channelId }),
  ]
  const rows = await rowsReadBy(world(), 'generic', async () => {
    const outcomes = await refusals(calls.map((call) => call()))
    expect(outcomes).toEqual(calls.map(() => forbidden))
  })
  // The channel, for the check and for the page, and a message that a page begins at.
  expect(rows).toBeLessThanOrEqual(3 * calls.length)
})
