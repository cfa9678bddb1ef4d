import { expect, test } from 'vitest'
import { notFound, refusal } from './support/refusal.ts'
import { type PlanKind, planAnew, rowsReadBy } from './support/rows-read.ts'
import { useWorld } from './support/world.ts'

const world = useWorld({
  poolSize: 1,
  timings: { reconcileMs: 1_000_000, beatMs: 1_000_000, lookMs: 1_000_000 },
})

const MESSAGES = 5_000
const START = Date.parse('2026-01-01T00:00:00Z')
const timeOf = (seq: number) => new Date(START + seq * 60_000).toISOString()

/** A channel with a message a minute, of ana and ben in turn, whose oldest are gone. */
async function fill() {
  const { db, appId } = world()
  const [ana, ben] = await world().users('inspected-ana', 'inspected-ben')
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Long',
    memberIds: [ben.id],
  })
  await db`
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, author_seq, text, mentions, attachments, created_at
    )
    select
      gen_random_uuid(), ${appId}, ${channelId},
      case when n % 2 = 0 then ${ana.id} else ${ben.id} end,
      n, n, n / 2, 'Message ' || n, '{}', '[]', ${timeOf(0)}::timestamptz + n * interval '1 minute'
    from generate_series(100, ${MESSAGES}::int) n`
  await db`
    update channels
    set last_seq = ${MESSAGES}, rev = ${MESSAGES}
    where app_id = ${appId}
      and id = ${channelId}`
  return { channelId, ana, ben }
}

test('the operator finds what was said before a time, and by whom, in a long channel', async () => {
  const { operator, appId } = world()
  const { channelId, ana } = await fill()
  const seqs = async (filter: { sentBefore?: string; userId?: string; cursor?: string }) =>
    (await operator.inspect.messages({ appId, channelId, limit: 3, ...filter })).messages.map(
      ({ seq }) => seq,
    )
  // Of those of that very time none, and of earlier ones the newest first.
  expect(await seqs({ sentBefore: timeOf(1_234) })).toEqual([1_233, 1_232, 1_231])
  expect(await seqs({ sentBefore: timeOf(1_234.5) })).toEqual([1_234, 1_233, 1_232])
  expect(await seqs({ sentBefore: timeOf(1_234), userId: ana.id })).toEqual([1_232, 1_230, 1_228])
  expect(await seqs({ sentBefore: timeOf(100) })).toEqual([])
  expect(await seqs({ sentBefore: timeOf(101) })).toEqual([100])
  expect(await seqs({ sentBefore: timeOf(9_999) })).toEqual([5_000, 4_999, 4_998])
  const page = { appId, channelId, limit: 2, sentBefore: timeOf(1_234) }
  const { nextCursor } = await operator.inspect.messages(page)
  expect(await seqs({ sentBefore: page.sentBefore, cursor: nextCursor ?? '' })).toEqual([
    1_231, 1_230, 1_229,
  ])
  expect(
    await refusal(operator.inspect.messages({ appId, channelId, sentBefore: 'yesterday' })),
  ).toMatchObject({ status: 400 })
  await world().db`analyze`
  await planAnew(world())
  for (const plan of ['generic', 'custom'] satisfies PlanKind[]) {
    const read = () => operator.inspect.messages(page)
    expect(await rowsReadBy(world(), plan, read), plan).toBeLessThanOrEqual(100)
  }
})

test('the operator finds a user by the id that a log line has', async () => {
  const { operator, appId } = world()
  await world().users('inspected-one', 'inspected-one-more')
  const find = async (userId: string) =>
    (await operator.inspect.users({ appId, userId })).users.map(({ id }) => id)
  expect(await find('inspected-one')).toEqual(['inspected-one'])
  expect(await find('inspected-o')).toEqual([])
  await world().backend.users.delete({ userId: 'inspected-one' })
  expect(await find('inspected-one')).toEqual([])
  expect(
    await refusal(operator.inspect.users({ appId, userId: 'inspected-one', q: 'one' })),
  ).toMatchObject({ status: 400 })
  const unknown = { appId: crypto.randomUUID(), userId: 'inspected-one-more' }
  expect(await refusal(operator.inspect.users(unknown))).toEqual(notFound)
})
