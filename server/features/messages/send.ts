import { contract, type Message } from '@parley/contract'
import { v7 as uuidv7 } from 'uuid'
import type { WriteContext } from '../../core/context.ts'
import { ApiError } from '../../core/errors.ts'
import type { LockedCounters } from '../../core/event-buffer.ts'
import {
  type Command,
  implementBatch,
  type Outcome,
  RequiresFirstError,
} from '../../core/operation.ts'
import type { Tx } from '../../db/client.ts'
import type { ChannelRow, MemberRow } from '../../db/rows.ts'
import { channelForReader, isOpen, lockChannels } from '../access.ts'
import { joinOpenChannel } from '../members/index.ts'
import { linksIn } from './links.ts'
import { mentionsIn } from './mentions.ts'
import { selectMessages, toMessage } from './view.ts'

type Send = Command<typeof contract.messages.send>
type SendOutcome = Outcome<typeof contract.messages.send>

/**
 * Appends messages: lock, read, insert, news: four statements, whatever the number of messages and members. What
 * decides (rights, parent, earlier copy) is read after the lock, so that nobody writes after having been removed.
 */
export const send = implementBatch(contract.messages.send, {
  // Messages of one channel wait for its lock anyway: in one transaction they take it once.
  groupKeyOf: ({ caller, input }) => `${caller.appId}:${input.channelId}`,
  run: async (ctx, commands) => {
    const facts = await readFacts(ctx.db, commands)
    const earlier = await selectEarlier(ctx.db, facts)
    const { append, write } = createAppender(ctx)
    const outcomes = facts.map((fact): SendOutcome => {
      if (fact.isAuthorGone) return refuse('INVALID_TOKEN', 'The token has been revoked')
      if (!fact.channel) return refuse('NOT_FOUND', 'Channel not found')
      if (fact.role === null && !isOpen(fact.channel.type))
        return refuse('FORBIDDEN', 'You are not a member of this channel')
      const repeated = fact.earlierId === null ? undefined : earlier.get(fact.earlierId)
      if (repeated) return { result: repeated, isRepeat: true }
      if (fact.command.input.parentId !== undefined && fact.rootId === null)
        return refuse('NOT_FOUND', 'Parent message not found')
      return fact.role === null ? { error: joinFirst(fact.command) } : append(fact, fact.channel)
    })
    write()
    return outcomes
  },
  findRepeated: async (ctx, { channelId, clientId }) => {
    if (clientId === undefined) return undefined
    // biome-ignore format: one line
    const { db, caller: { appId, userId } } = ctx
    const which = db`where m.app_id = ${appId} and m.channel_id = ${channelId} and m.user_id = ${userId} and m.client_id = ${clientId}`
    const [view] = await selectMessages(db, { viewer: userId, which })
    if (!view) return undefined
    await channelForReader(ctx, channelId)
    return toMessage(view)
  },
})

const refuse = (code: 'NOT_FOUND' | 'FORBIDDEN' | 'INVALID_TOKEN', message: string) => ({
  error: new ApiError(code, message),
})

/** The first message in an open channel makes its author a member. */
const joinFirst = ({ caller, input }: Send) =>
  new RequiresFirstError(({ inTransaction }) =>
    inTransaction((ctx) => joinOpenChannel({ ...ctx, caller }, input)),
  )

/** A command and all that its fate depends on. */
type Fact = {
  command: Send
  channel: (LockedCounters & Pick<ChannelRow, 'type'>) | null
  author: Message['user']
  isAuthorGone: boolean
  role: MemberRow['role'] | null
  lastReadSeq: number
  unreadAfterSeq: number
  earlierId: string | null
  rootId: string | null
  rootReplyCount: number
  now: string
}

async function readFacts(db: Tx, commands: Send[]) {
  const appId = commands[0]?.caller.appId ?? ''
  const channelIds = commands.map(({ input }) => input.channelId)
  const [, rows] = await Promise.all([
    lockChannels(db, appId, [...new Set(channelIds)]),
    // Authors are kept from being deleted, in the order of their ids, so that what they write is found by whoever deletes them.
    db<(Omit<Fact, 'command'> & { place: number })[]>`
      select s.place::int, u.deleted_at is not null as is_author_gone,
        case when c.id is not null then jsonb_build_object('id', c.id, 'type', c.type, 'lastSeq', c.last_seq, 'rev', c.rev, 'isLocked', true) end as channel,
        jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as author,
        m.role, m.last_read_seq, m.unread_after_seq, earlier.id as earlier_id, root.id as root_id, root.reply_count as root_reply_count,
        clock_timestamp() as now
      from unnest(
        ${channelIds}::uuid[], ${commands.map(({ caller }) => caller.userId)}::text[],
        ${commands.map(({ input }) => input.clientId ?? null)}::text[], ${commands.map(({ input }) => input.parentId ?? null)}::uuid[]
      ) with ordinality as s (channel_id, user_id, client_id, parent_id, place)
      join users u on u.app_id = ${appId} and u.id = s.user_id
      left join channels c on c.app_id = ${appId} and c.id = s.channel_id and c.deleted_at is null
      left join members m on m.channel_id = c.id and m.user_id = s.user_id
      left join messages earlier on earlier.channel_id = c.id and earlier.user_id = s.user_id and earlier.client_id = s.client_id
      left join messages parent on parent.id = s.parent_id and parent.channel_id = c.id and parent.deleted_at is null
      left join messages root on root.id = coalesce(parent.parent_id, parent.id)
      order by u.id, s.place
      for key share of u`,
  ])
  const inOrder = rows.toSorted((a, b) => a.place - b.place)
  return inOrder.map(
    ({ place, ...row }): Fact => ({ ...row, command: commands[place - 1] as Send }),
  ) // one row a command
}

/** The messages of which commands are repeats, by id. None, as a rule, and then nothing is asked. */
async function selectEarlier(db: Tx, facts: Fact[]) {
  const ids = facts.flatMap(({ earlierId }) => earlierId ?? [])
  if (ids.length === 0) return new Map<string, Message>()
  const views = await selectMessages(db, {
    viewer: db`m.user_id`,
    which: db`where m.id = any(${ids}::uuid[])`,
  })
  return new Map(views.map((view) => [view.id, toMessage(view)]))
}

/** Gathers accepted messages; `write` stores them, their threads' counts and their authors' markers in one statement. */
function createAppender(
  ctx: Pick<WriteContext, 'db' | 'emit' | 'nextSeq' | 'enqueue' | 'write' | 'services'>,
) {
  const rows: (Message & { appId: string })[] = []
  const threads = new Map<string, { id: string; replyCount: number; rev: number }>()
  const markers = new Map<string, Marker>()
  const byClientId = new Map<string, Message>()

  const append = (
    { command, author, now, ...fact }: Fact,
    channel: LockedCounters,
  ): SendOutcome => {
    const { clientId = null, text, attachments } = command.input
    const twin = `${channel.id} ${author.id} ${clientId}`
    const repeated = clientId === null ? undefined : byClientId.get(twin)
    if (repeated) return { result: repeated, isRepeat: true }

    const id = uuidv7()
    const seq = ctx.nextSeq(channel)
    const replyCount =
      fact.rootId === null ? 0 : (threads.get(fact.rootId)?.replyCount ?? fact.rootReplyCount) + 1
    const { message } = ctx.emit(
      channel,
      'message.new',
      (rev) => ({
        channelId: channel.id,
        // biome-ignore format: the fields of a message
        message: {
          id, channelId: channel.id, userId: author.id, text, seq, rev, user: author, reactions: [], mentions: mentionsIn(text), attachments,
          parentId: fact.rootId, replyCount: 0, pinned: false, clientId, createdAt: now, updatedAt: now, editedAt: null, deletedAt: null,
        },
        ...(fact.rootId === null ? {} : { parent: { id: fact.rootId, replyCount } }),
      }),
      id,
    )
    ctx.enqueue('push-message', { messageId: id })
    if (linksIn(text).length > 0) ctx.enqueue('preview', { messageId: id })
    if (fact.rootId !== null)
      threads.set(fact.rootId, { id: fact.rootId, replyCount, rev: message.rev })
    const marker = {
      channelId: channel.id,
      userId: author.id,
      lastReadSeq: fact.lastReadSeq,
      unreadAfterSeq: fact.unreadAfterSeq,
    }
    markers.set(
      `${channel.id} ${author.id}`,
      advance(markers.get(`${channel.id} ${author.id}`) ?? marker, seq),
    )
    if (clientId !== null) byClientId.set(twin, message)
    rows.push({ ...message, appId: command.caller.appId })
    ctx.services.lastActive.touch(command.caller)
    return { result: message }
  }

  const write = () =>
    rows.length > 0 &&
    ctx.write(
      insertMessages(ctx.db, {
        rows,
        threads: [...threads.values()],
        markers: [...markers.values()],
      }),
    )
  return { append, write }
}

type Marker = { channelId: string; userId: string; lastReadSeq: number; unreadAfterSeq: number }

/** One's own message counts as read only by somebody who had read everything before it. */
const advance = (marker: Marker, seq: number): Marker => ({
  ...marker,
  lastReadSeq: marker.lastReadSeq === seq - 1 ? seq : marker.lastReadSeq,
  unreadAfterSeq: marker.unreadAfterSeq === seq - 1 ? seq : marker.unreadAfterSeq,
})

const insertMessages = (
  db: Tx,
  { rows, threads, markers }: { rows: object[]; threads: object[]; markers: Marker[] },
) => db`
  with threads as (
    update messages m set reply_count = t."replyCount", rev = t.rev
    from jsonb_to_recordset(${db.json(threads as never)}) as t (id uuid, "replyCount" int, rev int)
    where m.id = t.id
  ), markers as (
    update members m set last_read_seq = greatest(m.last_read_seq, r."lastReadSeq"), unread_after_seq = greatest(m.unread_after_seq, r."unreadAfterSeq")
    from jsonb_to_recordset(${db.json(markers)}) as r ("channelId" uuid, "userId" text, "lastReadSeq" int, "unreadAfterSeq" int)
    where m.channel_id = r."channelId" and m.user_id = r."userId" and (m.last_read_seq < r."lastReadSeq" or m.unread_after_seq < r."unreadAfterSeq")
  )
  insert into messages (id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments, parent_id, client_id, created_at, updated_at)
  select id, "appId", "channelId", "userId", seq, rev, text, mentions, attachments, "parentId", "clientId", "createdAt", "createdAt"
  from jsonb_to_recordset(${db.json(rows as never)}) as r (
    id uuid, "appId" uuid, "channelId" uuid, "userId" text, seq int, rev int, text text, mentions text[], attachments jsonb,
    "parentId" uuid, "clientId" text, "createdAt" timestamptz
  )`
