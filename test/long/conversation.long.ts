import { setTimeout as delay } from 'node:timers/promises'
import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { until } from '../support/chat.ts'
import { createTalk, showing } from '../support/counted-calls.ts'
import { useWorld } from '../support/world.ts'

const { tokens, messages, requests } = limits.rates
const world = useWorld({ rateLimits: { tokens, messages, requests, appRequests: 0 } })

const MESSAGES = 150
const TALK_MS = 60_000

test('five people who talk for a minute make at most one call a message each', async () => {
  const { ids, channelId } = await createTalk(world(), 'brisk', 5)
  const all = await Promise.all(ids.map((id) => showing(world(), id, channelId)))
  for (const { calls } of all) calls.length = 0
  for (let index = 0; index < MESSAGES; index++) {
    await all[index % all.length]?.room.send({ text: `message ${index}` }).sent
    await delay(TALK_MS / MESSAGES)
  }
  const hasRead = ({ room }: (typeof all)[number]) =>
    until(room.reads, ({ byUser }) =>
      // The last message is its author's own; the one before is read by all others.
      ids.every((id) => (byUser[id]?.lastReadSeq ?? 0) >= MESSAGES - 1),
    )
  await Promise.all(all.map(hasRead))
  const own = MESSAGES / all.length
  for (const { userId, calls, statuses } of all) {
    expect([userId, statuses.filter((status) => status >= 400)]).toEqual([userId, []])
    const sent = calls.filter((call) => call === `POST /api/channels/${channelId}/messages`)
    const reads = calls.filter((call) => call === `POST /api/channels/${channelId}/read`)
    expect([userId, sent.length, calls.length - reads.length]).toEqual([userId, own, own])
    expect(reads.length).toBeLessThanOrEqual(MESSAGES - own)
  }
})
