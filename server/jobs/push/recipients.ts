import { limits, type Preferences } from '@parley/contract'
import type { Job } from '../../core/jobs.ts'
import type { Db, Fragment, Tx } from '../../db/client.ts'
import { SYSTEM_USER } from '../../features/system-user.ts'
import type { MessageRelation } from './rules.ts'

/** A user who may get a push, with everything that the decision and its text depend on. */

type Recipient = { userId: string; chosen: Partial<Preferences> | null }

/** A member of a message's channel other than its author. */
export type MessageRecipient = Recipient & MessageRelation

/** A message with one page of its recipients. */
export type MessageRecipients = {
  appId: string
  messageId: string
  threadId: string | null
  text: string
  channelId: string
  channelName: string
  senderId: string
  senderName: string
  senderAvatar: string
  recipients: MessageRecipient[]
  /** The last member of this page; null if it is the last page. */
  lastId: string | null
}

/** The display name of the author of message `msg`, which is also the name of a direct message. */
const senderName = (db: Tx) => db`
  case when msg.type = 'system' then ${SYSTEM_USER.name} else author.display_name end`

/** Nothing is pushed for a deleted app while its purge goes on. */
const joinShownApp = (db: Tx, of: Fragment) => db`
  join apps a on a.id = ${of}.app_id and num_nulls(a.deleted_at) = 1`

/** How many members one job looks at, divided among the job's messages. */
const MEMBERS_PER_JOB = 1_000

/**
 * Reads a page of recipients of each message, in the order of their ids, or those of certain users
 * who are still members. A mention names a member by id, or by name in any case with dashes for
 * spaces. The members of a thread are the author of its root, and those of its latest replies.
 */
export const selectMessageRecipients = (db: Db, jobs: Job<'push-message'>[]) => {
  const appIds = jobs.map(({ appId }) => appId)
  const messageIds = jobs.map(({ messageId }) => messageId)
  const afters = jobs.map(({ after }) => after ?? '')
  const onlyUsers = jobs.map(({ userIds }) => (userIds ? JSON.stringify(userIds) : null))
  const pageSize = Math.ceil(MEMBERS_PER_JOB / jobs.length)
  return db.use(
    (db) => db<MessageRecipients[]>`
      select
        msg.app_id, msg.id as message_id, msg.parent_id as thread_id, msg.text,
        msg.channel_id, coalesce(c.name, ${senderName(db)}) as channel_name,
        author.id as sender_id, ${senderName(db)} as sender_name,
        coalesce(author.image, '') as sender_avatar,
        page.recipients, page.last_id
      from unnest(
        ${appIds}::uuid[], ${messageIds}::uuid[], ${afters}::text[], ${onlyUsers}::text[]
      ) as given (app_id, message_id, after, only_users)
      join messages msg
        on msg.app_id = given.app_id
        and msg.id = given.message_id
        and msg.deleted_at is null
      ${joinShownApp(db, db`msg`)}
      join channels c on c.id = msg.channel_id and c.deleted_at is null
      join users author
        on author.app_id = msg.app_id
        and author.id = msg.user_id
        and (author.deleted_at is null or msg.type = 'system')
      left join lateral (
        select array_agg(lower(name)) as names
        from unnest(msg.mentions) name
        where not exists (
          select
          from members mentioned
          where mentioned.channel_id = msg.channel_id
            and mentioned.user_id = name
        )
      ) named on cardinality(msg.mentions) > 0
      left join lateral (
        select array_agg(distinct written.user_id) as user_ids
        from (
          select root.user_id
          from messages root
          where root.id = msg.parent_id
          union all
          (
            select other.user_id
            from messages other
            where other.parent_id = msg.parent_id
              and num_nulls(other.deleted_at) = 1
            order by other.seq desc
            limit ${limits.threadReplies}
          )
        ) written
      ) thread on msg.parent_id is not null
      cross join lateral (
        select
          case
            when given.only_users is null and count(*) = ${pageSize}::int
              then max(candidate.user_id)
          end as last_id,
          coalesce(
            json_agg(
              json_build_object(
                'userId', candidate.user_id,
                'chosen', pref.chosen,
                'isMuted', candidate.muted,
                'isMentioned', candidate.user_id = any(msg.mentions)
                  or coalesce(
                    lower(replace(u.display_name, ' ', '-')) = any(named.names),
                    false
                  ),
                'isInThread', coalesce(candidate.user_id = any(thread.user_ids), false)
              )
            ) filter (where u.id is not null),
            '[]'
          ) as recipients
        from (
          (
            select m.app_id, m.user_id, m.muted
            from members m
            where m.channel_id = msg.channel_id
              and m.user_id > given.after
              and m.user_id <> msg.user_id
              and given.only_users is null
            order by m.user_id
            limit ${pageSize}
          )
          union all
          (
            select m.app_id, m.user_id, m.muted
            from json_array_elements_text(given.only_users::json) as only_user (id)
            join members m on m.channel_id = msg.channel_id and m.user_id = only_user.id
            where m.user_id <> msg.user_id
          )
        ) candidate
        left join users u
          on u.app_id = candidate.app_id
          and u.id = candidate.user_id
          and u.deleted_at is null
        left join lateral (
          select chosen
          from preferences
          where app_id = candidate.app_id
            and user_id = candidate.user_id
          limit 1
        ) pref on true
      ) page`,
  )
}

/** The author of a message that still has the reaction, while they are a member of its channel. */
export type ReactionRecipient = Recipient & {
  appId: string
  messageId: string
  channelId: string
  text: string
  emoji: string
  reactorId: string
  reactorName: string
}

export const selectReactionRecipients = (db: Db, jobs: Job<'push-reaction'>[]) => {
  const appIds = jobs.map(({ appId }) => appId)
  const messageIds = jobs.map(({ messageId }) => messageId)
  const userIds = jobs.map(({ userId }) => userId)
  const emojis = jobs.map(({ emoji }) => emoji)
  return db.use(
    (db) => db<ReactionRecipient[]>`
      select
        msg.app_id, msg.id as message_id, msg.channel_id, msg.text,
        r.emoji, reactor.id as reactor_id, reactor.display_name as reactor_name,
        msg.user_id, pref.chosen
      from unnest(
        ${appIds}::uuid[], ${messageIds}::uuid[], ${userIds}::text[], ${emojis}::text[]
      ) as given (app_id, message_id, user_id, emoji)
      join messages msg
        on msg.app_id = given.app_id
        and msg.id = given.message_id
        and msg.deleted_at is null
      ${joinShownApp(db, db`msg`)}
      join channels c on c.id = msg.channel_id and c.deleted_at is null
      join reactions r
        on r.message_id = msg.id
        and r.user_id = given.user_id
        and r.emoji = given.emoji
      join users reactor
        on reactor.app_id = r.app_id
        and reactor.id = r.user_id
        and reactor.deleted_at is null
      join members m on m.channel_id = msg.channel_id and m.user_id = msg.user_id
      join users u on u.app_id = m.app_id and u.id = m.user_id and u.deleted_at is null
      left join preferences pref on pref.app_id = msg.app_id and pref.user_id = msg.user_id`,
  )
}

/** A user who was added to a channel and is still a member. */
type InvitedUser = Recipient & {
  channelId: string
  channelName: string
  channelDescription: string
  invitedBy: string
  invitedByName: string
  joinedAt: string
}
export type InviteRecipient = InvitedUser & { job: Job<'push-invite'> }

export async function selectInviteRecipients(
  db: Db,
  job: Job<'push-invite'>,
): Promise<InviteRecipient[]> {
  const { appId, channelId, invitedBy, userIds } = job
  const users = await db.use(
    (db) => db<InvitedUser[]>`
      select
        c.id as channel_id,
        coalesce(c.name, '') as channel_name,
        coalesce(c.description, '') as channel_description,
        inviter.id as invited_by, inviter.display_name as invited_by_name,
        m.user_id, m.joined_at, pref.chosen
      from channels c
      ${joinShownApp(db, db`c`)}
      join users inviter
        on inviter.app_id = c.app_id
        and inviter.id = ${invitedBy}
        and inviter.deleted_at is null
      join members m
        on m.channel_id = c.id
        and m.user_id = any(${userIds})
      join users u on u.app_id = m.app_id and u.id = m.user_id and u.deleted_at is null
      left join preferences pref on pref.app_id = m.app_id and pref.user_id = m.user_id
      where c.app_id = ${appId}
        and c.id = ${channelId}
        and c.deleted_at is null`,
  )
  return users.map((user) => ({ ...user, job }))
}
