import { test } from 'vitest'
import { lockSilently } from './support/stuck-session.ts'
import { useWorld } from './support/world.ts'

const never = 3_600_000
// Its heartbeats and comparisons, which would also find such a session, do not come.
const world = useWorld({ timings: { beatMs: never, comparePresenceMs: never } })

test('who waits for a session whose client fell silent frees its locks at once', async () => {
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  await lockSilently(world().databaseUrl, channelId)
  // Without that, its statement would be given up after four seconds.
  await ana.messages.send({ channelId, text: 'is not refused' })
})
