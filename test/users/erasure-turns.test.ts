import { topics } from '@parley/contract'
import { createErasureOfDeleted } from '@parley/server/jobs/erase-deleted'
import { createErasurePositions } from '@parley/server/jobs/erasure-context'
import { expect, test, vi } from 'vitest'
import { cleanupElsewhere, erased } from '../support/cleanup.ts'
import { erasureContext } from '../support/erasing.ts'
import { insertUsers } from '../support/inserted.ts'
import { whileLocked, withoutCleanup } from '../support/locks.ts'
import { patient } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

test('an app that deletes many users does not delay the erasure of those of another', async () => {
  const { db } = world()
  const apps = await Promise.all(
    ['One', 'Two', 'Three'].map((name) => world().operator.apps.create({ name })),
  )
  const [first, second, third] = apps.map(({ id }) => id).toSorted()
  if (!first || !second || !third) throw new Error('expected three apps')
  await withoutCleanup(world(), async () => {
    for (const [appId, count] of [
      [first, 5],
      [second, 3_000],
      [third, 1],
    ] as const)
      await insertUsers({ db, appId }, 'gone-', count)
    // One of the many has more events than a pass deletes.
    await db`
      insert into events (topic, "offset", type, envelope)
      select ${topics.user(second, 'gone-1')}, n, 'channel.added', '{}'
      from generate_series(1, 1000) n`
    // The many were deleted first.
    await db`
      update users
      set deleted_at = now() - case app_id when ${second} then 60 else 30 end * interval '1 second'
      where app_id = any(${[first, second, third]}::uuid[])`
    const positions = createErasurePositions()
    const erase = createErasureOfDeleted()
    // Each pass ends after a few steps, in the turn of the app with many.
    const pass = () => erase(erasureContext(world(), { positions, steps: 24, rows: 10 }))
    const waiting = async () =>
      (
        await db<{ appId: string }[]>`
          select distinct app_id
          from users
          where app_id = any(${[first, second, third]}::uuid[])
            and forgotten_at is null`
      ).map(({ appId }) => appId)
    for (let passes = 0; passes < 2; passes++) await pass().catch(() => {})
    expect(await waiting()).toEqual([second])
  })
})

test('deleted users whose reactions cannot be erased hold up no other user', async () => {
  const { db, appId } = world()
  const [anna, bert, clara, dora] = await world().users('anna', 'bert', 'clara', 'dora')
  const memberIds = [anna.id, bert.id]
  const { id: channelId } = await dora.channels.create({ type: 'group', name: 'Held', memberIds })
  const { id: messageId } = await dora.messages.send({ channelId, text: 'hi' })
  for (const user of [anna, bert]) await user.reactions.add({ channelId, messageId, emoji: '👍' })
  const deleted = [...memberIds, clara.id]
  await db`
    update users
    set deleted_at = now()
    where app_id = ${appId}
      and id = any(${deleted})`
  const patience = { callMs: 60_000, statementMs: 400 }
  const cleanup = cleanupElsewhere(world(), { patience, mayFail: true })
  await whileLocked(world(), channelId, () =>
    vi.waitFor(async () => {
      await cleanup.run()
      const forgotten = await db`
        select id
        from users
        where app_id = ${appId}
          and id = any(${deleted})
          and forgotten_at is not null`
      expect(forgotten).toEqual([{ id: clara.id }])
    }, patient),
  )
  await erased(world())
})
