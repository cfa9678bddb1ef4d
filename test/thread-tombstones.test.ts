import { expect, test } from 'vitest'
import { discardPlans, rowsReadBy } from './support/rows-read.ts'
import { useWorld } from './support/world.ts'

const NEVER = 1_000_000
const world = useWorld({
  poolSize: 1,
  timings: { reconcileMs: NEVER, beatMs: NEVER, lookMs: NEVER, pingMs: NEVER },
})

const DELETED = 3_000

test('a page of a thread reads none of its deleted replies', async () => {
  const { db, appId } = world()
  const ben = await world().user('ben')
  const { id: channelId } = await ben.channels.create({ type: 'group', name: 'Talk' })
  const { id: messageId } = await ben.messages.send({ channelId, text: 'root' })
  const { id } = await ben.messages.send({ channelId, text: 'reply', parentId: messageId })
  await db`
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments, parent_id, deleted_at
    )
    select
      gen_random_uuid(), ${appId}, ${channelId}, 'ben', n, n, '', '{}', '[]', ${messageId}, now()
    from generate_series(3, ${DELETED}::int) n`
  await db`
    update channels
    set last_seq = ${DELETED}, rev = ${DELETED + 1}
    where id = ${channelId}`
  await db`analyze`
  await discardPlans(world())
  const read = async () => {
    const { messages } = await ben.messages.replies({ channelId, messageId })
    expect(messages.map((message) => message.id)).toEqual([id])
  }
  for (const plan of ['generic', 'custom'] as const)
    expect(await rowsReadBy(world(), plan, read)).toBeLessThan(100)
})
