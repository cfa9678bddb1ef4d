import type { ImportRecord } from '@parley/client/server'
import { expect, test } from 'vitest'
import {
  channel,
  channelIdOf,
  expectExactCounters,
  importInto,
  member,
  message,
  user,
} from '../imports/records.ts'
import { heapInUse } from '../support/heap.ts'
import { createWorld } from '../support/world.ts'

const MESSAGES = 100_000 * Number(process.env.SCALE ?? 1)
const CHANNELS = 200
const USERS = 100
const at = (n: number) => new Date(Date.UTC(2020, 0, 1) + n * 1_000).toISOString()

/** Yields records as they are sent, so none holds all of them; messages are not in time order. */
function* history(): Generator<ImportRecord> {
  for (let n = 0; n < USERS; n++) yield user(`u${n}`)
  for (let n = 0; n < CHANNELS; n++) {
    yield channel(`c${n}`, { createdAt: at(0) })
    for (const one of [0, 1, 2]) yield member(`c${n}`, `u${(n + one) % USERS}`)
  }
  for (let n = 0; n < MESSAGES; n++) {
    const createdAt = at((n * 7_919) % MESSAGES)
    yield message(`m${n}`, `c${n % CHANNELS}`, { userId: `u${n % USERS}`, createdAt })
  }
}

test('100,000 messages are imported in flat memory, while others send', {
  timeout: 900_000,
}, async () => {
  const world = await createWorld()
  try {
    const live = await world.user('live')
    const { id: channelId } = await live.channels.create({ type: 'group', name: 'Live' })
    const heaps: number[] = []
    let sent = 0
    let isRunning = true
    const sending = (async () => {
      while (isRunning) {
        await live.messages.send({ channelId, text: `Live ${sent}` })
        sent += 1
        if (sent % 50 === 0) heaps.push(heapInUse())
      }
    })()
    const started = performance.now()
    const report = await importInto(world, history())
    const seconds = (performance.now() - started) / 1_000
    isRunning = false
    await sending
    expect(report).toMatchObject({ isFinished: true, refused: 0, imported: { messages: MESSAGES } })
    expect(sent).toBeGreaterThan(0)
    await expectExactCounters(world)
    const { maxSeq } = await world.backend.messages.list({ channelId: channelIdOf(world, 'c0') })
    expect(maxSeq).toBe(MESSAGES / CHANNELS)

    const startedAgain = performance.now()
    const again = await importInto(world, history())
    const secondsAgain = (performance.now() - startedAgain) / 1_000
    expect(again.imported.messages).toBe(0)
    const rate = Math.round(report.lines / seconds)
    console.info(
      `${report.lines} lines in ${seconds.toFixed(1)} s: ${rate} a second; ` +
        `again in ${secondsAgain.toFixed(1)} s; ${sent} live messages meanwhile; ` +
        `heap ${heaps.map((bytes) => Math.round(bytes / 1024 ** 2)).join(', ')} MB`,
    )
    expect((rate * 60) / 10_000).toBeGreaterThan(1)
    expect(heaps.length).toBeGreaterThan(3)
    const half = Math.ceil(heaps.length / 2)
    expect(Math.max(...heaps.slice(half)) - Math.max(...heaps.slice(0, half))).toBeLessThan(
      16 * 1024 ** 2,
    )
  } finally {
    await world.stop()
  }
})
