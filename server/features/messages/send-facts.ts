import type { contract, Message, QuotedMessage } from '@parley/contract'
import type { LockedCounters } from '../../core/event-buffer.ts'
import type { Command } from '../../core/operation.ts'
import type { Tx } from '../../db/client.ts'
import { pipelined } from '../../db/pipelined.ts'
import type { ChannelRow, MemberRow } from '../../db/rows.ts'
import { constant } from '../../db/sql.ts'
import { lockChannels } from '../channels/access.ts'
import { channelById } from '../channels/by-id.ts'
import { SYSTEM_USER } from '../system-user.ts'
import { findQuoted, selectQuotable } from './quotes.ts'

export type SendCommand = Command<typeof contract.messages.send>

/** A command, and everything that its outcome depends on. */
export type SendFacts = {
  command: SendCommand
  channel: (LockedCounters & Pick<ChannelRow, 'type' | 'frozen'>) | null
  author: Message['user']
  isAuthorDeleted: boolean
  role: MemberRow['role'] | null
  lastReadSeq: number
  unreadAfterSeq: number
  /** How many messages the author has written in the channel, deleted ones included. */
  lastAuthorSeq: number
  earlierId: string | null
  rootId: string | null
  rootReplyCount: number
  /** The message that it quotes; null if there is none in the channel. */
  quoted: QuotedMessage | null
  /**
   * One time for the whole batch. It is never before the channel's last message, whatever the clock
   * does.
   */
  now: string
  /** Whether others have locked the channel, so that the facts may change. */
  isLockedByOthers: boolean
}

/**
 * Locks the channels of these commands of one app, and reads the facts of each command. No facts if
 * the author has no row, as for the backend before its first message.
 */
export async function readSendFacts(
  db: Tx,
  commands: SendCommand[],
  { waitsForLocks }: { waitsForLocks: boolean },
): Promise<SendFacts[]> {
  const appId = commands[0]?.caller.appId ?? ''
  const channelIds = [...new Set(commands.map(({ input }) => input.channelId))]
  const [locked, rows, quotable] = await pipelined([
    lockChannels(db, appId, channelIds, { waitsForLocks }),
    selectFacts(db, appId, commands),
    selectQuotable(db, appId, commands),
  ])
  const quotedIn = findQuoted(quotable)
  const lockedIds = new Set(locked.map(({ id }) => id))
  const inOrder = rows.toSorted((a, b) => a.ordinal - b.ordinal)
  return inOrder.map((row) => {
    const command = commands[row.ordinal - 1] as SendCommand // there is one row a command
    const channel = channelOf(row)
    return {
      command,
      channel,
      author: { id: row.authorId, name: row.authorName, image: row.authorImage },
      isAuthorDeleted: row.isAuthorDeleted,
      role: row.role,
      lastReadSeq: row.lastReadSeq,
      unreadAfterSeq: row.unreadAfterSeq,
      lastAuthorSeq: row.lastAuthorSeq,
      earlierId: row.earlierId,
      rootId: row.rootId,
      rootReplyCount: row.rootReplyCount,
      quoted: quotedIn(command),
      now: row.now,
      isLockedByOthers: channel !== null && !lockedIds.has(channel.id),
    }
  })
}

const channelOf = ({
  channelId,
  channelType: type,
  lastSeq,
  rev,
  frozen,
}: FactsRow): SendFacts['channel'] =>
  channelId === null || type === null
    ? null
    : { id: channelId, isLocked: true, type, lastSeq, rev, frozen }

/** Plain columns, because writing and reading a row as JSON costs more than finding it. */
type FactsRow = Omit<
  SendFacts,
  'command' | 'isLockedByOthers' | 'channel' | 'author' | 'quoted'
> & {
  ordinal: number
  /** Null if there is no such channel. */
  channelId: string | null
  channelType: ChannelRow['type'] | null
  lastSeq: number
  rev: number
  frozen: boolean | null
  authorId: string
  authorName: string
  authorImage: string | null
}

/**
 * Locks the authors by id, so that none is deleted while their message is being stored: the erasure
 * would miss it. They are found one by one: joined plainly, all users of the app are read by a plan
 * that was made while it had few.
 */
function selectFacts(db: Tx, appId: string, commands: SendCommand[]) {
  const channelIds = commands.map(({ input }) => input.channelId)
  const userIds = commands.map(({ caller }) => caller.userId ?? SYSTEM_USER.id)
  const clientIds = commands.map(({ input }) => input.clientId ?? null)
  const parentIds = commands.map(({ input }) => input.parentId ?? null)
  return db<FactsRow[]>`
    select
      command.ordinal::int,
      c.id as channel_id, c.type as channel_type, c.last_seq, c.rev, c.frozen,
      u.id as author_id, u.display_name as author_name, u.image as author_image,
      u.deleted_at is not null as is_author_deleted,
      m.role, m.last_read_seq, m.unread_after_seq,
      ${lastAuthorSeq(db)}::int as last_author_seq,
      ${earlierOf(db)} as earlier_id,
      root.id as root_id, root.reply_count as root_reply_count,
      greatest(statement_timestamp(), c.last_activity_at) as now
    from (
      select *
      from unnest(
        ${channelIds}::uuid[], ${userIds}::text[], ${clientIds}::text[], ${parentIds}::uuid[]
      )
        with ordinality as given (channel_id, user_id, client_id, parent_id, ordinal)
      order by user_id, ordinal
    ) command
    cross join lateral (
      select id, display_name, image, deleted_at
      from users
      where app_id = ${appId}
        and id = command.user_id
      for key share
    ) u
    left join lateral (${channelById(db, db`command.channel_id`)}) c on c.app_id = ${appId}
    left join lateral (
      select role, last_read_seq, unread_after_seq
      from members
      where channel_id = command.channel_id
        and user_id = command.user_id
      limit 1
    ) m on true
    left join lateral (${rootOf(db)}) root on command.parent_id is not null`
}

/** The message that the command repeats. */
const earlierOf = constant(
  (db) => db`(
    select id
    from messages
    where channel_id = command.channel_id
      and user_id = command.user_id
      and client_id = command.client_id
  )`,
)

/** How many messages the author has in the channel: the last has a number, unless it is old. */
const lastAuthorSeq = constant(
  (db) => db`coalesce(
    (
      select author_seq
      from messages
      where channel_id = command.channel_id
        and user_id collate "C" = command.user_id
      order by seq desc
      limit 1
    ),
    (
      select count(*)
      from messages
      where channel_id = command.channel_id
        and user_id collate "C" = command.user_id
    )
  )`,
)

/** The root of the thread that the command replies in. */
const rootOf = constant(
  (db) => db`
    select msg.id, msg.reply_count
    from messages parent
    join messages msg on msg.id = coalesce(parent.parent_id, parent.id)
    where parent.id = command.parent_id
      and parent.channel_id is not distinct from command.channel_id
      and parent.deleted_at is null
    limit 1`,
)
