import type { ImportRecord } from '@parley/client/server'
import { expect, test } from 'vitest'
import { insertUsers } from '../support/inserted.ts'
import { NEVER } from '../support/quiet.ts'
import { rowsReadBy } from '../support/rows-read.ts'
import { useWorld } from '../support/world.ts'
import { at, channel, importInto, member, message, messageIdOf } from './records.ts'

const world = useWorld({
  poolSize: 1,
  timings: { reconcileMs: NEVER, beatMs: NEVER, lookMs: NEVER, pingMs: NEVER },
})

test('reactions of a crowd are imported without reading those before them for each', async () => {
  await world().user('ana')
  const fans = await insertUsers(world(), 'fan-', 2_000)
  let files = 0
  const admire = async () => {
    files += 1
    const [talk, hit] = [`talk-${files}`, `hit-${files}`]
    const reactions = fans.map(
      (userId): ImportRecord => ({
        record: 'reaction',
        ...{ messageId: hit, userId, emoji: '👍', createdAt: at(2) },
      }),
    )
    const before = [channel(talk), member(talk, 'ana'), message(hit, talk)]
    const report = await importInto(world(), [...before, ...reactions])
    expect(report).toMatchObject({ isFinished: true, refused: 0 })
  }
  expect(await rowsReadBy(world(), 'generic', admire)).toBeLessThan(200_000)
  const [counted] = await world().db<{ count: number }[]>`
    select count
    from reaction_counts
    where message_id = ${messageIdOf(world(), 'hit-1')}`
  expect(counted?.count).toBe(2_000)
})
