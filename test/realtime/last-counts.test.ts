import { test } from 'vitest'
import { NEVER, quietTimings } from '../support/quiet.ts'
import { createWorld, useWorld } from '../support/world.ts'
import { counts, createGroup, useListeners } from './listeners.ts'

// A node that compares nothing by itself.
const world = useWorld({ timings: quietTimings })
const { listenAs, userTopic, newUsers } = useListeners(world)

test('a node that stops counts its last messages for the users of the others', async () => {
  const [ana, ben] = await newUsers()
  const node = await createWorld({
    databaseUrl: world().databaseUrl,
    timings: { ...quietTimings, unreadPauseMs: NEVER },
  })
  const channelId = await createGroup(ana, ben)
  const bens = await listenAs(ben, userTopic(ben))
  const elsewhere = node.api({ token: ana.token })
  // The first message may be counted at once, and later ones an hour later.
  for (const text of ['a', 'b']) await elsewhere.messages.send({ channelId, text })
  await node.stop()
  await bens.until(() => counts(bens, 'channel.total_unread_changed').at(-1) === 2)
})
