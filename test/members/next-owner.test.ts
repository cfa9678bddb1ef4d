import { nextOwner } from '@parley/server/features/members/change'
import { expect, test } from 'vitest'
import { NEVER, quietTimings } from '../support/quiet.ts'
import { discardPlans, rowsReadBy } from '../support/rows-read.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld({
  poolSize: 1,
  timings: { ...quietTimings, pingMs: NEVER },
})

const MANY = 4_000

test('the successor of a last owner is found without reading all members', async () => {
  const { db, pool, appId } = world()
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Large' })
  await db`
    insert into users (app_id, id)
    select ${appId}, 'u' || n
    from generate_series(1, ${MANY}::int) n`
  await db`
    insert into members (app_id, channel_id, user_id, role, unread_after_seq, joined_at)
    select ${appId}, ${channelId}, 'u' || n, 'member', 0, now() + n * interval '1 second'
    from generate_series(1, ${MANY}::int) n`
  await db`vacuum analyze members`
  await discardPlans(world())
  const next = () => pool.use((tx) => nextOwner(tx, tx`${channelId}::uuid`))
  const reads = async (name: string) => {
    for (const plan of ['generic', 'custom'] as const)
      expect.soft(await rowsReadBy(world(), plan, next), `${name}, ${plan}`).toBeLessThan(MANY / 20)
  }
  expect([...(await next())]).toEqual([])
  await reads('an owner')
  await ana.members.leave({ channelId })
  const role = (userId: string, role: string) => db`
    update members
    set role = ${role}
    where channel_id = ${channelId}
      and user_id = ${userId}`
  await role('u1', 'member')
  expect(Object.values((await next())[0] ?? {})).toEqual(['u1'])
  await reads('members alone')
  await role('u3999', 'moderator')
  await role('u4000', 'moderator')
  expect(Object.values((await next())[0] ?? {})).toEqual(['u3999'])
  await reads('moderators')
})
