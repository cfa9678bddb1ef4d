import { topics } from '@parley/contract'
import { expect, test } from 'vitest'
import { cleanupElsewhere } from '../support/cleanup.ts'
import { RawSocket } from '../support/socket.ts'
import { useWorld } from '../support/world.ts'
import { counts, createGroup, useListeners } from './listeners.ts'

/** A reconciliation finds changes of other nodes whose notes did not arrive. */

const world = useWorld({ timings: { reconcileMs: 300 } })
const { listenAs, userTopic, newUsers } = useListeners(world)

test('the sockets of an app that was disabled are closed, and those of no other', async () => {
  const { operator, api, db } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name: 'Disabled' })
  const theirs = await RawSocket.connect(world(), await world().user('ana', {}, api({ apiKey })))
  const ours = await RawSocket.connect(world(), await world().user('ana'))
  await db`
    update apps
    set disabled_at = now()
    where id = ${appId}`
  expect((await theirs.closed).code).toBe(3503)
  expect(ours.socket.readyState).toBe(ours.socket.OPEN)
})

test('the sockets of a user who was deleted are closed', async () => {
  const { db, appId } = world()
  const [ana, ben] = await newUsers()
  const [anas, bens] = [
    await RawSocket.connect(world(), ana),
    await RawSocket.connect(world(), ben),
  ]
  await db`
    update users
    set deleted_at = now()
    where app_id = ${appId}
      and id = ${ben.id}`
  expect((await bens.closed).code).toBe(3503)
  expect(anas.socket.readyState).toBe(anas.socket.OPEN)
})

test('messages that were deleted count as unread no longer', async () => {
  const { db, appId, operator } = world()
  const [ana, ben] = await newUsers()
  const channelId = await createGroup(ana, ben)
  const bens = await listenAs(ben, userTopic(ben))
  await ana.messages.send({ channelId, text: 'old' })
  await bens.until(() => counts(bens, 'channel.unread_changed').at(-1) === 1)
  await db`
    update messages
    set created_at = now() - interval '8 days'
    where app_id = ${appId}
      and channel_id = ${channelId}`
  await operator.apps.update({ appId, settings: { messageRetentionDays: 7 } })
  await cleanupElsewhere(world()).pass()
  await bens.until(() => counts(bens, 'channel.unread_changed').at(-1) === 0)
  await bens.until(() => counts(bens, 'channel.total_unread_changed').at(-1) === 0)
})

test('a message that was committed long after it was written counts as unread', async () => {
  const { db, appId } = world()
  const [ana, ben] = await newUsers()
  const channelId = await createGroup(ana, ben)
  const bens = await listenAs(ben, userTopic(ben))
  await ana.messages.send({ channelId, text: 'hi' })
  await bens.until(() => counts(bens, 'channel.unread_changed').at(-1) === 1)
  await db`
    with counted as (
      update channels
      set last_seq = last_seq + 1, rev = rev + 1
      where id = ${channelId}
      returning last_seq, rev
    ), sent as (
      insert into messages (id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments)
      select gen_random_uuid(), ${appId}, ${channelId}, ${ana.id}, last_seq, rev, 'late', '{}', '[]'
      from counted
    )
    insert into events (topic, "offset", type, envelope, created_at)
    select
      ${topics.channel(appId, channelId)}, rev, 'message.new', '{}', now() - interval '10 seconds'
    from counted`
  await bens.until(() => counts(bens, 'channel.unread_changed').at(-1) === 2)
})
