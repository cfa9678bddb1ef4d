import { readFileSync } from 'node:fs'
import { limits } from '@parley/contract'
import { readConfig } from '@parley/server/config/index'
import { timings as jobTimings } from '@parley/server/jobs/timings'
import { timings } from '@parley/server/realtime/timings'
import { expect, test } from 'vitest'

/** Other tests compute with these numbers, whatever they are. Here they must match the pages. */

const { realtime, imports } = limits

test.each([
  ['README.md', 'A user may have 20 on each server', readConfig({}).socketsPerUser, 20],
  ['README.md', 'each with 1,000 topics', realtime.topicsPerSocket, 1_000],
  ['README.md', 'missed more than 5,000 of a topic', realtime.recoverable, 5_000],
  ['README.md', 'Events are kept for 24 hours', limits.eventsKeptHours, 24],
  ['README.md', 'a tRPC request 20 calls', limits.callsPerBatch, 20],
  ['README.md', '`EVENT_MEMORY_MB` (128)', realtime.eventMemoryMb, 128],
  ['README.md', '`SEND_MEMORY_MB` (256)', realtime.sendMemoryMb, 256],
  ['README.md', 'a channel of more than 100 members', limits.largeChannelMembers, 100],
  ['docs/realtime.md', 'the members of up to 1,000 of', limits.coMemberChannels, 1_000],
  ['docs/realtime.md', 'at most 6 seconds after the last one', limits.typingSeconds, 6],
  ['docs/realtime.md', 'no connection for 15 seconds', limits.presenceGraceSeconds, 15],
  ['docs/realtime.md', 'at most 10 subscriptions to each', realtime.subscriptionsPerTopic, 10],
  ['docs/before-send.md', 'At most 200 wait on each server', limits.beforeSend.atOnce, 200],
  ['docs/before-send.md', 'and 40 of one user', limits.beforeSend.atOnceOfUser, 40],
  ['docs/before-send.md', 'For 24 hours each question', limits.webhooks.rotationHours, 24],
  ['docs/jobs.md', "the thread's latest 500 replies", limits.threadReplies, 500],
  ['docs/import.md', 'can start after a minute at most', imports.leaseSeconds, 60],
  ['docs/import.md', 'comes over HTTP for 20 seconds', imports.stalledSeconds, 20],
  ['docs/import.md', 'a batch of 500 lines', imports.batch.lines, 500],
  ['docs/import.md', 'for the first 1,000 of them', imports.refusalsShown, 1_000],
  ['docs/internals.md', 'without an append for 30 seconds', limits.streams.quietSeconds, 30],
  ['docs/sdk-reference.md', 'Up to 10,000 characters', limits.textLength, 10_000],
  ['docs/sdk-reference.md', 'up to 15 minutes after it', limits.deleteWindowSeconds, 15 * 60],
  ['docs/sdk-reference.md', 'Files, by their addresses: up to 30', limits.attachments, 30],
  ['docs/sdk-reference.md', 'not written for 30 seconds', limits.streams.quietSeconds, 30],
  ['client-sdk/room/throttled.ts', 'typing after 6 seconds', limits.typingSeconds, 6],
  ['client-sdk/room/typing-expiry.ts', 'typing after 6 seconds', limits.typingSeconds, 6],
])('the limit that %s promises: %s', (page, promise, actual, promised) => {
  expect(textOf(page)).toContain(promise)
  expect(actual).toBe(promised)
})

test.each([
  ['docs/operations.md', '25 seconds, the time between pings', timings.pingMs, 25_000],
  ['docs/realtime.md', 'a pong within 8 seconds', timings.pongMs, 8_000],
  ['docs/realtime.md', '25 seconds after its token has expired', timings.expiryGraceMs, 25_000],
  ['README.md', 'without a valid token is closed after 10 s', timings.connectMs, 10_000],
  ['docs/realtime.md', 'the database for 15 seconds closes', timings.outageMs, 15_000],
  ['docs/realtime.md', 'with 3001, over four seconds', timings.shutdownMs, 4_000],
  ['docs/reliability.md', '10 s after its last heartbeat', timings.deadAfterMs, 10_000],
  ['docs/reliability.md', 'by a node that looks every 2 s', timings.beatMs, 2_000],
  ['docs/reliability.md', 'given up after 3 s and repeated', timings.beatPatienceMs, 3_000],
  ['docs/reliability.md', 'heartbeats have succeeded for 5 s', timings.steadyMs, 5_000],
  ['docs/reliability.md', 'Silence between nodes (5 s)', timings.silentNodeMs, 5_000],
  ['docs/reliability.md', 'looked at every 0.4 s', timings.lookMs, 400],
  ['docs/reliability.md', 'the next pass (every 5 s)', timings.reconcileMs, 5_000],
  ['docs/scaling.md', 'is replaced after 5 seconds', timings.brokerSilenceMs, 5_000],
  ['docs/webhooks.md', 'Any 2xx within ten seconds', jobTimings.webhookTimeoutMs, 10_000],
])('the time that %s promises: %s', (page, promise, actual, promised) => {
  expect(textOf(page)).toContain(promise)
  expect(actual).toBe(promised)
})

/** A page of the documentation, on one line. */
const textOf = (page: string) =>
  readFileSync(new URL(`../${page}`, import.meta.url), 'utf8').replace(/\s+/g, ' ')
