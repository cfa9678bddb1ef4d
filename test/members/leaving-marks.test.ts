import { expect, test } from 'vitest'
import { cancelLarge } from '../support/cancel-large.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

test('a member with more read marks than are deleted at once leaves, or is removed', async () => {
  const { db, appId } = world()
  const [ana, ben, eve] = await world().users('ana', 'ben', 'eve')
  const memberIds = ['ben', 'eve']
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk', memberIds })
  await db`
    insert into read_marks (app_id, channel_id, user_id, seq)
    select ${appId}, ${channelId}, id, n
    from unnest(array['ana', 'ben', 'eve']) id, generate_series(1, 12000) n`
  await cancelLarge(world(), 5_000)
  await expect(eve.members.remove({ channelId, userId: 'ben' })).rejects.toMatchObject({
    code: 'FORBIDDEN',
  })
  await ana.members.remove({ channelId, userId: 'ben' })
  await eve.members.leave({ channelId })
  const marks = await db`
    select user_id, count(*)::int as count
    from read_marks
    where channel_id = ${channelId}
    group by user_id`
  expect(marks).toEqual([{ userId: 'ana', count: 12_000 }])
  await expect(ben.channels.get({ channelId })).rejects.toMatchObject({ code: 'FORBIDDEN' })
})
