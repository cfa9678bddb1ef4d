import { limits } from '@parley/contract'
import { selectMessageRecipients } from '@parley/server/jobs/push/recipients'
import { expect, test } from 'vitest'
import { insertMembers, insertUsers } from './support/inserted.ts'
import { discardPlans, rowsReadBy } from './support/rows-read.ts'
import { useWorld } from './support/world.ts'

const NEVER = 1_000_000
const world = useWorld({
  poolSize: 1,
  timings: { reconcileMs: NEVER, beatMs: NEVER, lookMs: NEVER, pingMs: NEVER },
})

const REPLIES = 5_000

test('a push of a reply goes to the latest authors of its thread, and reads no more', async () => {
  const { appId, db, pool } = world()
  const ana = await world().user('ana')
  const writers = await insertUsers(world(), 'writer-', 3)
  const [early = '', late = '', silent = ''] = writers
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  await insertMembers(world(), channelId, writers)
  const { id: parentId } = await ana.messages.send({ channelId, text: 'root' })
  // `early` wrote long ago and `late` wrote last. The very last reply, of `silent`, is deleted.
  await db`
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments, parent_id, deleted_at
    )
    select
      gen_random_uuid(), ${appId}, ${channelId},
      case
        when n = ${REPLIES} then ${silent}
        when n > ${REPLIES - 500} then ${late}
        else ${early}
      end,
      n + 1, n + 1, '', '{}', '[]', ${parentId}, case when n = ${REPLIES} then now() end
    from generate_series(1, ${REPLIES}::int) n`
  await db`
    update channels
    set last_seq = ${REPLIES + 1}, rev = ${REPLIES + 1}
    where id = ${channelId}`
  const ben = await world().user('ben')
  await insertMembers(world(), channelId, ['ben'])
  const { id: messageId } = await ben.messages.send({ channelId, text: 'reply', parentId })
  await db`analyze`
  await discardPlans(world())
  const read = async () => {
    const [message] = await selectMessageRecipients(pool, [{ appId, messageId }])
    const inThread = message?.recipients.filter(({ isInThread }) => isInThread)
    expect(inThread?.map(({ userId }) => userId)).toEqual(['ana', late])
  }
  for (const plan of ['generic', 'custom'] as const)
    expect(await rowsReadBy(world(), plan, read)).toBeLessThan(2 * limits.threadReplies + 100)
})
