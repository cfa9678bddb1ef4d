import { expect, test } from 'vitest'
import { allocatedBy } from './support/allocations.ts'
import { upTo } from './support/events.ts'
import { quietTimings } from './support/quiet.ts'
import { useWorld } from './support/world.ts'

const world = useWorld({
  poolSize: 1,
  timings: quietTimings,
})
const CALLS = 30
const KIB = 1024

/**
 * Kilobytes a call, the least of several runs: code that is not compiled yet allocates more. The
 * runs end once one is below `budget`.
 */
async function leastOf(call: () => Promise<unknown>, budget: number) {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < 12 && least >= budget; run++) {
    const bytes = await allocatedBy(async () => {
      for (const _ of upTo(CALLS)) await call()
    })
    least = Math.min(least, bytes / CALLS / KIB)
  }
  return least
}

test('reading and writing allocate little memory beside rows and answers', async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  const newGroup = () => ana.channels.create({ type: 'group', name: 'Talk', memberIds: ['ben'] })
  const [{ id: channelId = '' } = {}] = await Promise.all(upTo(50).map(newGroup))
  const text = 'The soup is ready, who is hungry? There is bread with it, and cheese.'
  const send = () => ana.messages.send({ channelId, text })
  await Promise.all(upTo(51).map(send))
  const budgets: [call: () => Promise<unknown>, kib: number][] = [
    [() => ana.messages.list({ channelId, limit: 50 }), 310],
    [() => ana.channels.list({ limit: 50 }), 345],
    [send, 190],
    [() => ben.reads.mark({ channelId }), 140],
  ]
  for (const [call, kib] of budgets)
    expect.soft(await leastOf(call, kib), String(call)).toBeLessThan(kib)
})
