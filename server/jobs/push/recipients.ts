import type { Preferences } from '@parley/contract'
import type { Job } from '../../core/jobs.ts'
import type { Db } from '../../db/client.ts'
import type { Relation } from './rules.ts'

/** Who might be told of something, and all that the decision and the text depend on. Each answer is one statement. */
type Recipient = { userId: string; chosen: Partial<Preferences> | null }
type Place = { channelId: string; channelName: string }

/** A member of a message's channel other than its author. */
export type Reader = Recipient & Relation
/** A message, some of its readers, and the member to go on after if there may be more. */
export type Read = Place & {
  appId: string
  messageId: string
  threadId: string | null
  text: string
  senderId: string
  senderName: string
  senderAvatar: string
  readers: Reader[]
  lastId: string | null
}

/** So many members are looked at at once, whatever the number of messages. */
const PAGE = 1_000

/** A mention names a member by id, else by name with spaces as dashes in any case. In a thread are those who wrote in it. */
export const selectRead = (db: Db, jobs: Job<'push-message'>[]) => {
  const share = Math.ceil(PAGE / jobs.length)
  return db.use(
    (db) => db<Read[]>`
  select m.app_id, m.id as message_id, m.parent_id as thread_id, m.text, m.channel_id, coalesce(c.name, author.display_name) as channel_name,
    author.id as sender_id, author.display_name as sender_name, coalesce(author.image, '') as sender_avatar, page.readers, page.last_id
  from unnest(
    ${jobs.map(({ appId }) => appId)}::uuid[], ${jobs.map(({ messageId }) => messageId)}::uuid[], ${jobs.map(({ after }) => after ?? '')}::text[]
  ) as j (app_id, message_id, after)
  join messages m on m.app_id = j.app_id and m.id = j.message_id and m.deleted_at is null
  join channels c on c.id = m.channel_id and c.deleted_at is null
  join users author on author.app_id = m.app_id and author.id = m.user_id and author.deleted_at is null
  left join lateral (
    select array_agg(lower(name)) as names from unnest(m.mentions) name
    where not exists (select from members g where g.channel_id = m.channel_id and g.user_id = name)
  ) named on cardinality(m.mentions) > 0
  left join lateral (
    select array_agg(distinct r.user_id) as user_ids from messages r where r.id = m.parent_id or (r.parent_id = m.parent_id and r.deleted_at is null)
  ) thread on m.parent_id is not null
  cross join lateral (
    select case when count(*) = ${share}::int then max(f.user_id) end as last_id,
      coalesce(json_agg(json_build_object(
        'userId', f.user_id, 'isMuted', f.muted, 'chosen', p.chosen,
        'isMentioned', f.user_id = any(m.mentions) or coalesce(lower(replace(u.display_name, ' ', '-')) = any(named.names), false),
        'isInThread', coalesce(f.user_id = any(thread.user_ids), false)
      )) filter (where u.id is not null), '[]') as readers
    from (
      select app_id, user_id, muted from members where channel_id = m.channel_id and user_id > j.after and user_id <> m.user_id order by user_id limit ${share}
    ) f
    left join users u on u.app_id = f.app_id and u.id = f.user_id and u.deleted_at is null
    left join preferences p on p.app_id = f.app_id and p.user_id = f.user_id
  ) page`,
  )
}

/** A reaction that is still there, and the author of its message if he is still a member. */
export type Reacted = Recipient & {
  messageId: string
  channelId: string
  text: string
  emoji: string
  reactorId: string
  reactorName: string
}

export const selectReacted = (db: Db, jobs: Job<'push-reaction'>[]) =>
  db.use(
    (db) => db<Reacted[]>`
  select m.id as message_id, m.channel_id, m.text, r.emoji, reactor.id as reactor_id, reactor.display_name as reactor_name, m.user_id, p.chosen
  from unnest(
    ${jobs.map(({ appId }) => appId)}::uuid[], ${jobs.map(({ messageId }) => messageId)}::uuid[], ${jobs.map(({ userId }) => userId)}::text[],
    ${jobs.map(({ emoji }) => emoji)}::text[]
  ) as j (app_id, message_id, user_id, emoji)
  join messages m on m.app_id = j.app_id and m.id = j.message_id and m.deleted_at is null and m.user_id <> j.user_id
  join channels c on c.id = m.channel_id and c.deleted_at is null
  join reactions r on r.message_id = m.id and r.user_id = j.user_id and r.emoji = j.emoji
  join users reactor on reactor.app_id = r.app_id and reactor.id = r.user_id and reactor.deleted_at is null
  join members f on f.channel_id = m.channel_id and f.user_id = m.user_id
  left join preferences p on p.app_id = m.app_id and p.user_id = m.user_id`,
  )

/** Who was made a member and still is one. */
export type Invited = Recipient &
  Place & { channelDescription: string; invitedBy: string; invitedByName: string; joinedAt: string }

export const selectInvited = (
  db: Db,
  { appId, channelId, invitedBy, userIds }: Job<'push-invite'>,
) =>
  db.use(
    (db) => db<Invited[]>`
  select c.id as channel_id, coalesce(c.name, '') as channel_name, coalesce(c.description, '') as channel_description,
    inviter.id as invited_by, inviter.display_name as invited_by_name, f.user_id, f.joined_at, p.chosen
  from channels c
  join users inviter on inviter.app_id = c.app_id and inviter.id = ${invitedBy} and inviter.deleted_at is null
  join members f on f.channel_id = c.id and f.user_id = any(${userIds}) and f.user_id <> inviter.id
  join users u on u.app_id = f.app_id and u.id = f.user_id and u.deleted_at is null
  left join preferences p on p.app_id = f.app_id and p.user_id = f.user_id
  where c.app_id = ${appId} and c.id = ${channelId} and c.deleted_at is null`,
  )
