import { runInTransaction } from '@parley/server/core/context'
import { test } from 'vitest'
import { quietTimings } from '../support/quiet.ts'
import { useWorld } from '../support/world.ts'
import { counts, createGroup, useListeners } from './listeners.ts'

// A node that compares nothing by itself, and has no others.
const world = useWorld({ timings: quietTimings })
const { listenAs, userTopic, newUsers } = useListeners(world)

test('a removal whose note was lost lowers the total once the user gets the event', async () => {
  const { appId, pool } = world()
  const [ana, ben] = await newUsers()
  const [channelId, otherId] = [await createGroup(ana, ben), await createGroup(ana, ben)]
  const bens = await listenAs(ben, userTopic(ben))
  const total = (count: number) =>
    bens.until(() => counts(bens, 'channel.total_unread_changed').at(-1) === count)
  await ana.messages.send({ channelId, text: 'unread' })
  await total(1)
  const publisher = { publish: () => {}, broadcast: () => {} }
  await pool.use((connection) =>
    runInTransaction(connection, { appId, publisher }, async ({ db, emitToUser }) => {
      await db`
        with removed as (
          delete from members
          where channel_id = ${channelId}
            and user_id = ${ben.id}
        )
        update channels
        set member_count = member_count - 1
        where id = ${channelId}`
      emitToUser(ben.id, 'channel.removed', { channelId })
    }),
  )
  // The next event in their topic shows that there was one before.
  await ben.channels.updateSettings({ channelId: otherId, starred: true })
  await bens.untilType('channel.removed')
  await total(0)
})
