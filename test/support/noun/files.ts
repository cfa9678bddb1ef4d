/** The files of the noun `polls`. */
export const files = {
  'contract/polls.ts': `
import { z } from 'zod'
import * as field from './fields.ts'
import { operation } from './operation.ts'

const pollId = () =>
  field
    .uuid()
    .meta({ description: 'Id of the poll.', examples: ['019c9b1d-22bb-7c3d-9d4e-5f6071829304'] })
const text = () =>
  field
    .text({ min: 1, max: 300 })
    .meta({ description: 'The question.', examples: ['Soup or salad?'] })

/** A question to the members of a channel. */
export const Poll = z
  .object({
    id: pollId(),
    channelId: field.channelId(),
    text: text(),
    createdBy: field.userId().meta({ description: 'The user who asks.' }),
  })
  .meta({ id: 'Poll', description: 'A question to the members of a channel.' })
export type Poll = z.infer<typeof Poll>

const InChannel = z.object({ channelId: field.channelId() })

/** Questions to the members of a channel. */
export const polls = {
  create: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/polls',
    auth: 'user',
    status: 201,
    summary: 'Create a poll',
    description: 'Asks the members of a channel a question; any member may.',
    input: InChannel.extend({ text: text() }),
    output: Poll,
  }),
  list: operation({
    method: 'GET',
    path: '/api/channels/{channelId}/polls',
    auth: 'user',
    summary: 'List polls',
    description: 'Lists the polls of a channel, the newest first. Members only.',
    input: InChannel.extend({
      limit: field.pageSize({ default: 50, max: 100 }),
      offset: field.offset(),
      cursor: field.cursor(),
    }),
    output: z.object({
      polls: z.array(Poll).meta({ description: 'The newest first.' }),
      nextCursor: field.nextCursor(),
    }),
  }),
  delete: operation({
    method: 'DELETE',
    path: '/api/channels/{channelId}/polls/{pollId}',
    auth: 'user',
    summary: 'Delete a poll',
    description: 'Deletes a poll. Only its author may.',
    input: InChannel.extend({ pollId: pollId() }),
    output: field.Success,
  }),
}
`,
  'server/db/schema/polls.ts': `
import { index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { referencesChannel } from './channels.ts'

export const polls = pgTable(
  'polls',
  {
    id: uuid().notNull(),
    appId: uuid().notNull(),
    channelId: uuid().notNull(),
    text: text().notNull(),
    createdBy: text().notNull(),
  },
  (t) => [
    // In the order of the list.
    primaryKey({ columns: [t.channelId, t.id] }),
    // For the erasure and the export of a user.
    index('polls_of_user').on(t.appId, t.createdBy, t.id),
    referencesChannel(t).onDelete('cascade'),
  ],
)
`,
  'server/features/polls.ts': `
import { contract, type Poll } from '@parley/contract'
import { v7 as uuidv7 } from 'uuid'
import { ApiError } from '../core/errors.ts'
import { type Implements, implement, implementWithoutTransaction } from '../core/operation.ts'
import { LAST_ID } from '../db/sql.ts'
import { channelForMember, lockCallerForShare, lockedChannelForMember } from './channels/access.ts'
import { decodeIdCursor, encodeCursor, toPage } from './cursors.ts'

const create = implement(contract.polls.create, async (ctx, { channelId, text }) => {
  await lockedChannelForMember(ctx, channelId)
  await lockCallerForShare(ctx)
  const { appId, userId } = ctx.caller
  const id = uuidv7()
  await ctx.db\`
    insert into polls (id, app_id, channel_id, text, created_by)
    values (\${id}, \${appId}, \${channelId}, \${text}, \${userId})\`
  return { id, channelId, text, createdBy: userId }
})

const list = implementWithoutTransaction(
  contract.polls.list,
  async (ctx, { channelId, limit, offset, cursor }) => {
    await channelForMember(ctx, channelId)
    const before = cursor === undefined ? LAST_ID : decodeIdCursor(cursor)
    const found = await ctx.db<Poll[]>\`
      select id, channel_id, text, created_by
      from polls
      where channel_id = \${channelId}
        and id < \${before}
      order by id desc
      limit \${limit + 1}
      offset \${offset}\`
    const { page, nextCursor } = toPage(found, limit, ({ id }) => encodeCursor(id, ''))
    return { polls: page, nextCursor }
  },
)

const remove = implement(contract.polls.delete, async (ctx, { channelId, pollId }) => {
  await lockedChannelForMember(ctx, channelId)
  const [poll] = await ctx.db<{ createdBy: string }[]>\`
    select created_by
    from polls
    where channel_id = \${channelId}
      and id = \${pollId}\`
  if (!poll) throw new ApiError('NOT_FOUND', 'Poll not found')
  if (poll.createdBy !== ctx.caller.userId)
    throw new ApiError('FORBIDDEN', 'You are not the author of this poll')
  await ctx.db\`
    delete from polls
    where channel_id = \${channelId}
      and id = \${pollId}\`
  return { success: true }
})

export const polls = { create, list, delete: remove } satisfies Implements<'polls'>
`,
  'server/features/users/erase-polls.ts': `
import type { Tx } from '../../db/client.ts'
import { joinDeleted, type TargetQuery } from './erase.ts'

/** Deletes the polls of deleted users. */
export const deletePolls = (
  db: Tx,
  { appId, userIds, limit }: Pick<TargetQuery, 'appId' | 'userIds' | 'limit'>,
) => db\`
  delete from polls
  where (channel_id, id) in (
    select poll.channel_id, poll.id
    from unnest(\${userIds}::text[]) as given (user_id)
    \${joinDeleted(db, appId)}
    join polls poll on poll.app_id = \${appId} and poll.created_by = u.id
    limit \${limit}
  )\`
`,
  'test/polls.test.ts': `
import { expect, test } from 'vitest'
import { erased } from './support/cleanup.ts'
import { exportOf } from './support/exported.ts'
import { forbidden, notFound, refusals } from './support/refusal.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** A channel of ana and ben with a poll of ana; cem is outside. */
async function talk() {
  const [ana, ben, cem] = await world().users('ana', 'ben', 'cem')
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Kitchen',
    memberIds: ['ben'],
  })
  const poll = await ana.polls.create({ channelId, text: 'Soup or salad?' })
  return { ana, ben, cem, channelId, poll }
}

test('a poll is listed for every member of its channel, the newest first', async () => {
  const { ana, ben, channelId, poll } = await talk()
  const second = await ben.polls.create({ channelId, text: 'When?' })
  expect(second).toMatchObject({ channelId, text: 'When?', createdBy: 'ben' })
  const { polls: first, nextCursor } = await ana.polls.list({ channelId, limit: 1 })
  const rest = await ben.polls.list({ channelId, limit: 1, cursor: nextCursor ?? '' })
  expect([first, rest]).toEqual([[second], { polls: [poll], nextCursor: null }])
})

test('users outside a channel neither ask, nor see or delete its polls', async () => {
  const { ben, cem, channelId, poll } = await talk()
  for (const call of await refusals([
    cem.polls.create({ channelId, text: 'May I?' }),
    cem.polls.list({ channelId }),
    cem.polls.delete({ channelId, pollId: poll.id }),
  ]))
    expect(call).toEqual(forbidden)
  expect((await ben.polls.list({ channelId })).polls).toEqual([poll])
})

test('an author deletes their poll, once and in its channel; other members do not', async () => {
  const { ana, ben, channelId, poll } = await talk()
  const other = await talk()
  const ref = { channelId, pollId: poll.id }
  const strayed = { channelId: other.channelId, pollId: poll.id }
  expect(await refusals([ben.polls.delete(ref)])).toEqual([forbidden])
  expect(await refusals([ana.polls.delete(strayed)])).toEqual([notFound])
  expect(await ana.polls.delete(ref)).toEqual({ success: true })
  expect(await refusals([ana.polls.delete(ref)])).toEqual([notFound])
  expect((await ben.polls.list({ channelId })).polls).toEqual([])
})

test('an export has the polls of the user, and their erasure leaves those of others', async () => {
  const { ben, channelId, poll } = await talk()
  const kept = await ben.polls.create({ channelId, text: 'Dessert?' })
  const items = await exportOf(world(), 'ana')
  const polls = items.filter(({ kind }) => kind === 'poll').map(({ data }) => data)
  const { createdBy: _, id: pollId, ...data } = poll
  expect(polls).toContainEqual({ pollId, ...data })
  expect(JSON.stringify(polls)).not.toContain('Dessert?')
  await world().backend.users.delete({ userId: 'ana' })
  await erased(world())
  expect((await ben.polls.list({ channelId })).polls).toEqual([kept])
})
`,
}
