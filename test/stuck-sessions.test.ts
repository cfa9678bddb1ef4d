import { expect, test } from 'vitest'
import { lockSilently } from './support/stuck-session.ts'
import { useWorld } from './support/world.ts'

const never = 3_600_000
// Its heartbeats and comparisons, which would also find such a session, do not come.
const world = useWorld({ timings: { beatMs: never, comparePresenceMs: never } })

/** As docs/reliability.md promises. */
const HELD_MS = 2_500
/** How much of the machine's time the statements may take that end the session, in sends. */
const SENDS = 10

test('who waits for a session whose client fell silent frees its locks within 2.5 s', async () => {
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const send = async () => {
    const began = performance.now()
    // Without an end of the session it is refused after four seconds.
    await ana.messages.send({ channelId, text: 'is not refused' })
    return performance.now() - began
  }
  await send()
  const usual = [await send(), await send()]
  await lockSilently(world().databaseUrl, channelId)
  const held = await send()
  usual.push(await send())
  expect(held).toBeLessThan(HELD_MS + SENDS * Math.max(...usual))
  // Otherwise nothing was held.
  expect(held).toBeGreaterThan(1_000)
})
