select value from service where key = 'epoch'
--> statement-breakpoint
select count(*)::int as count from connections where node_id = $1
--> statement-breakpoint
insert into nodes (id, beat_at) values ($1, now()) on conflict (id) do update set beat_at = now()
--> statement-breakpoint
select distinct topic from events
where created_at > now() - $1 * interval '1 second' and topic like 'user:%' and envelope like '{"type":"workspace.removed"%'
--> statement-breakpoint
select topic, max("offset") as "offset" from events
where created_at > now() - $1 * interval '1 second' and topic like 'chat:%' and envelope ~ '^{"type":"(message.new|message.deleted|channel.member_joined)"'
group by topic
--> statement-breakpoint
with app as (insert into apps (id, name) values ($1, $2) returning created_at),
  key as (insert into api_keys (id, app_id, hash) values ($3, $4, $5))
select created_at from app
--> statement-breakpoint
select id from nodes where beat_at < now() - $1 * interval '1 millisecond'
--> statement-breakpoint
select app_id from api_keys where hash = $1
--> statement-breakpoint
with given as (select $1::jsonb as rows), before as (
  select users.* from users, given where app_id = $2 and given.rows ? id and deleted_at is null
)
insert into users as u (app_id, id, name, email, image, custom, last_active_at)
select $3, key, value ->> 'name', value ->> 'email', value ->> 'image', coalesce(nullif(value -> 'custom', 'null'), '{}'),
  case when value ? 'isActive' then now() end
from given, jsonb_each(rows) order by key
on conflict (app_id, id) do update set
  name = case when (u.deleted_at is not null or (select rows from given) -> u.id ? $4) then excluded.name else u.name end,
  email = case when (u.deleted_at is not null or (select rows from given) -> u.id ? $5) then excluded.email else u.email end,
  image = case when (u.deleted_at is not null or (select rows from given) -> u.id ? $6) then excluded.image else u.image end,
  custom = case when (u.deleted_at is not null or (select rows from given) -> u.id ? $7) then excluded.custom else u.custom end,
  last_active_at = coalesce(excluded.last_active_at, u.last_active_at),
  created_at = case when u.deleted_at is null then u.created_at else now() end,
  updated_at = case when u.deleted_at is null then clock_timestamp() else now() end,
  deleted_at = null, forgotten_at = null
where u.deleted_at is null or u.forgotten_at is not null
returning id, display_name as name, image, email, custom, token_generation, created_at = updated_at as is_new,
  exists (select from before b where b.id = u.id and (b.display_name, b.image) is distinct from (u.display_name, u.image)) as has_new_face,
  u.last_active_at is not null and not exists (
    select from before b where b.id = u.id and b.last_active_at is not null and (b.name, b.email, b.image) is not distinct from (u.name, u.email, u.image)
  ) as is_subscriber_news
--> statement-breakpoint
select token_generation from users where app_id = $1 and id = $2 and deleted_at is null
--> statement-breakpoint
select id, display_name as name, image from users where app_id = $1 and id = any($2) and deleted_at is null order by id for key share
--> statement-breakpoint
insert into channels (id, app_id, cid, type, name, image, description, workspace_id, created_by, client_id, dm_key)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
on conflict do nothing
returning *
--> statement-breakpoint
with joined as (
  insert into members (app_id, channel_id, user_id, role, unread_after_seq)
  select $1, $2, n.user_id, n.role, $3
  from unnest($4::text[], $5::text[]) as n (user_id, role)
  on conflict do nothing
  returning user_id, joined_at
), counted as (
  update channels set member_count = member_count + (select count(*) from joined) where id = $6
)
select * from joined
--> statement-breakpoint
select c.id, c.cid, coalesce(c.name, peer.display_name, 'Deleted user') as name, c.type, coalesce(c.image, peer.image) as image, c.description,
    c.workspace_id, c.created_by, c.member_count, case when m.user_id is null then 0 else
  case when c.last_seq <= m.unread_after_seq then 0 else greatest(0, c.last_seq - m.unread_after_seq
    - (select count(*) from messages x where x.channel_id = c.id and x.user_id = m.user_id and x.seq > m.unread_after_seq)
    - (select count(*) from messages x where x.channel_id = c.id and x.deleted_at is not null and x.user_id <> m.user_id and x.seq > m.unread_after_seq))::int end end as unread_count,
    coalesce(m.last_read_seq, 0) as last_read_seq, m.role, coalesce(m.starred, false) as starred, coalesce(m.muted, false) as muted,
    c.rev, c.created_at, c.updated_at,
    (select x.id from messages x where x.channel_id = c.id and x.deleted_at is null order by x.seq desc limit 1) as last_message_id,
    case when $1 or c.type = 'messaging' then (
  select coalesce(jsonb_agg(jsonb_build_object('userId', f.user_id, 'user', jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image), 'role', f.role, 'joinedAt', to_char(f.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by f.joined_at, f.user_id), '[]')
  from (select f.* from members f where f.channel_id = c.id order by f.joined_at, f.user_id limit $2) f join users u on u.app_id = f.app_id and u.id = f.user_id
) end as members
  from (
    select c.* from channels c left join members m on m.channel_id = c.id and m.user_id = $3
    where c.app_id = $4 and c.deleted_at is null and c.id = $5
  ) c
  left join members m on m.channel_id = c.id and m.user_id = $6
  left join lateral (
  select u.display_name, u.image from members p join users u on u.app_id = p.app_id and u.id = p.user_id
  where c.type = 'messaging' and p.channel_id = c.id and p.user_id <> $7 limit 1) peer on true
  order by c.last_activity_at desc, c.id desc
--> statement-breakpoint
with counted as (
  update channels c
  set rev = n.rev, last_seq = n.last_seq,
    last_activity_at = case when n.last_seq > c.last_seq then clock_timestamp() else c.last_activity_at end
  from unnest(
    $1::uuid[], $2::int[], $3::int[]
  ) as n (id, rev, last_seq)
  where c.id = n.id
)
insert into events (topic, "offset", envelope, message_id)
select * from unnest(
  $4::text[], $5::int[],
  $6::text[], $7::uuid[]
)
--> statement-breakpoint
with news as (
  select user_id, envelope, row_number() over (partition by user_id order by place) as number, count(*) over (partition by user_id) as total
  from unnest($1::text[], $2::text[])
    with ordinality as n (user_id, envelope, place)
), streams as (
  insert into user_streams as s (app_id, user_id, last_offset)
  select $3, user_id, max(total) from news group by user_id order by user_id
  on conflict (app_id, user_id) do update set last_offset = s.last_offset + excluded.last_offset
  returning user_id, last_offset
)
insert into events (topic, "offset", envelope)
select $4 || user_id, last_offset - total + number, envelope from news join streams using (user_id)
returning topic, "offset", envelope, message_id
--> statement-breakpoint
select c.*, m.role, m.last_read_seq, m.unread_after_seq, m.starred, m.muted, w.role as workspace_role, cursor.seq as cursor_seq
from channels c
left join members m on m.channel_id = c.id and m.user_id = $1
left join workspace_members w on w.workspace_id = c.workspace_id and w.user_id = $2
left join messages cursor on cursor.id = $3 and cursor.channel_id = c.id
where c.app_id = $4 and c.id = $5 and c.deleted_at is null
--> statement-breakpoint
select id from channels where app_id = $1 and id = any($2::uuid[]) and deleted_at is null order by id for no key update
--> statement-breakpoint
select f.user_id, jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as "user", f.role, f.joined_at from (select f.* from members f where f.channel_id = $1 and f.user_id = any($2)) f join users u on u.app_id = f.app_id and u.id = f.user_id order by f.joined_at, f.user_id
--> statement-breakpoint
select f.user_id, jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as "user", f.role, f.joined_at from (select f.* from members f where f.channel_id = $1 order by f.joined_at, f.user_id limit $2 offset $3) f join users u on u.app_id = f.app_id and u.id = f.user_id order by f.joined_at, f.user_id
--> statement-breakpoint
select s.place::int, u.deleted_at is not null as is_author_gone,
  case when c.id is not null then jsonb_build_object('id', c.id, 'type', c.type, 'lastSeq', c.last_seq, 'rev', c.rev, 'isLocked', true) end as channel,
  jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as author,
  m.role, m.last_read_seq, m.unread_after_seq, earlier.id as earlier_id, root.id as root_id, root.reply_count as root_reply_count,
  clock_timestamp() as now
from unnest(
  $1::uuid[], $2::text[],
  $3::text[], $4::uuid[]
) with ordinality as s (channel_id, user_id, client_id, parent_id, place)
join users u on u.app_id = $5 and u.id = s.user_id
left join channels c on c.app_id = $6 and c.id = s.channel_id and c.deleted_at is null
left join members m on m.channel_id = c.id and m.user_id = s.user_id
left join messages earlier on earlier.channel_id = c.id and earlier.user_id = s.user_id and earlier.client_id = s.client_id
left join messages parent on parent.id = s.parent_id and parent.channel_id = c.id and parent.deleted_at is null
left join messages root on root.id = coalesce(parent.parent_id, parent.id)
order by u.id, s.place
for key share of u
--> statement-breakpoint
with threads as (
  update messages m set reply_count = t."replyCount", rev = t.rev
  from jsonb_to_recordset($1) as t (id uuid, "replyCount" int, rev int)
  where m.id = t.id
), markers as (
  update members m set last_read_seq = greatest(m.last_read_seq, r."lastReadSeq"), unread_after_seq = greatest(m.unread_after_seq, r."unreadAfterSeq")
  from jsonb_to_recordset($2) as r ("channelId" uuid, "userId" text, "lastReadSeq" int, "unreadAfterSeq" int)
  where m.channel_id = r."channelId" and m.user_id = r."userId" and (m.last_read_seq < r."lastReadSeq" or m.unread_after_seq < r."unreadAfterSeq")
)
insert into messages (id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments, parent_id, client_id, created_at, updated_at)
select id, "appId", "channelId", "userId", seq, rev, text, mentions, attachments, "parentId", "clientId", "createdAt", "createdAt"
from jsonb_to_recordset($3) as r (
  id uuid, "appId" uuid, "channelId" uuid, "userId" text, seq int, rev int, text text, mentions text[], attachments jsonb,
  "parentId" uuid, "clientId" text, "createdAt" timestamptz
)
--> statement-breakpoint
select m.id, m.channel_id, m.user_id, m.text, m.seq, m.rev, m.mentions, m.attachments, m.link_previews, m.parent_id, m.reply_count,
  m.client_id, m.created_at, m.updated_at, m.edited_at, m.deleted_at, p.pinned_by, p.pinned_at,
  jsonb_build_object('id', author.id, 'name', author.display_name, 'image', author.image) as "user",
  coalesce((
    select jsonb_agg(jsonb_build_object('type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users) order by kind.first, kind.emoji)
    from (
      select r.emoji, count(*), coalesce(bool_or(r.user_id = $1), false) as own, min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by place) filter (where place <= 10) as users
      from (
        select app_id, user_id, emoji, created_at, row_number() over (partition by emoji order by created_at, user_id) as place
        from reactions where message_id = m.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ), '[]') as reactions
from messages m
join users author on author.app_id = m.app_id and author.id = m.user_id
left join pins p on p.message_id = m.id
where m.id = $2 and m.channel_id = $3 and m.deleted_at is null
--> statement-breakpoint
select m.id, m.channel_id, m.user_id, m.text, m.seq, m.rev, m.mentions, m.attachments, m.link_previews, m.parent_id, m.reply_count,
  m.client_id, m.created_at, m.updated_at, m.edited_at, m.deleted_at, p.pinned_by, p.pinned_at,
  jsonb_build_object('id', author.id, 'name', author.display_name, 'image', author.image) as "user",
  coalesce((
    select jsonb_agg(jsonb_build_object('type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users) order by kind.first, kind.emoji)
    from (
      select r.emoji, count(*), coalesce(bool_or(r.user_id = $1), false) as own, min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by place) filter (where place <= 10) as users
      from (
        select app_id, user_id, emoji, created_at, row_number() over (partition by emoji order by created_at, user_id) as place
        from reactions where message_id = m.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ), '[]') as reactions
from messages m
join users author on author.app_id = m.app_id and author.id = m.user_id
left join pins p on p.message_id = m.id
where m.channel_id = $2 and m.deleted_at is null and m.seq < $3 order by m.seq desc limit $4
--> statement-breakpoint
select m.id, m.channel_id, m.user_id, m.text, m.seq, m.rev, m.mentions, m.attachments, m.link_previews, m.parent_id, m.reply_count,
  m.client_id, m.created_at, m.updated_at, m.edited_at, m.deleted_at, p.pinned_by, p.pinned_at,
  jsonb_build_object('id', author.id, 'name', author.display_name, 'image', author.image) as "user",
  coalesce((
    select jsonb_agg(jsonb_build_object('type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users) order by kind.first, kind.emoji)
    from (
      select r.emoji, count(*), coalesce(bool_or(r.user_id = $1), false) as own, min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by place) filter (where place <= 10) as users
      from (
        select app_id, user_id, emoji, created_at, row_number() over (partition by emoji order by created_at, user_id) as place
        from reactions where message_id = m.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ), '[]') as reactions
from messages m
join users author on author.app_id = m.app_id and author.id = m.user_id
left join pins p on p.message_id = m.id
where m.id = any($2::uuid[])
--> statement-breakpoint
select id from channels
where app_id = $1 and deleted_at is null and (dm_key = $2 or (created_by = $3 and client_id = $4))
order by client_id = $5 desc nulls last limit 1
--> statement-breakpoint
update members set role = $1 where channel_id = $2 and user_id = $3
--> statement-breakpoint
with due as (
  select u.app_id, u.id from users u
  join unnest($1::uuid[], $2::text[]) as s (app_id, user_id) on s.app_id = u.app_id and s.user_id = u.id
  where u.deleted_at is null and (u.last_active_at is null or u.last_active_at < now() - $3 * interval '1 millisecond')
  for no key update of u skip locked
)
update users u set last_active_at = now() from due where u.app_id = due.app_id and u.id = due.id
--> statement-breakpoint
with dismissed as (delete from members where channel_id = $1 and user_id = $2 returning app_id, channel_id, user_id),
  former as (insert into former_members (app_id, channel_id, user_id) select app_id, channel_id, user_id from dismissed on conflict do nothing)
update channels set member_count = member_count - 1 where id = $3 and exists (select from dismissed)
--> statement-breakpoint
update members f set role = 'owner' from users u
where u.app_id = f.app_id and u.id = f.user_id and f.channel_id = $1 and f.user_id = (
  select user_id from members where channel_id = $2
    and not exists (select from members where channel_id = $3 and role = 'owner')
  order by role = 'moderator' desc, joined_at, user_id limit 1
)
returning jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as "user"
--> statement-breakpoint
select c.id, c.cid, coalesce(c.name, peer.display_name, 'Deleted user') as name, c.type, coalesce(c.image, peer.image) as image, c.description,
    c.workspace_id, c.created_by, c.member_count, case when m.user_id is null then 0 else
  case when c.last_seq <= m.unread_after_seq then 0 else greatest(0, c.last_seq - m.unread_after_seq
    - (select count(*) from messages x where x.channel_id = c.id and x.user_id = m.user_id and x.seq > m.unread_after_seq)
    - (select count(*) from messages x where x.channel_id = c.id and x.deleted_at is not null and x.user_id <> m.user_id and x.seq > m.unread_after_seq))::int end end as unread_count,
    coalesce(m.last_read_seq, 0) as last_read_seq, m.role, coalesce(m.starred, false) as starred, coalesce(m.muted, false) as muted,
    c.rev, c.created_at, c.updated_at,
    (select x.id from messages x where x.channel_id = c.id and x.deleted_at is null order by x.seq desc limit 1) as last_message_id,
    case when $1 or c.type = 'messaging' then (
  select coalesce(jsonb_agg(jsonb_build_object('userId', f.user_id, 'user', jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image), 'role', f.role, 'joinedAt', to_char(f.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by f.joined_at, f.user_id), '[]')
  from (select f.* from members f where f.channel_id = c.id order by f.joined_at, f.user_id limit $2) f join users u on u.app_id = f.app_id and u.id = f.user_id
) end as members
  from (
    select c.* from channels c left join members m on m.channel_id = c.id and m.user_id = $3
    where c.app_id = $4 and c.deleted_at is null and m.user_id is not null and true and true order by c.last_activity_at desc, c.id desc limit $5 offset $6
  ) c
  left join members m on m.channel_id = c.id and m.user_id = $7
  left join lateral (
  select u.display_name, u.image from members p join users u on u.app_id = p.app_id and u.id = p.user_id
  where c.type = 'messaging' and p.channel_id = c.id and p.user_id <> $8 limit 1) peer on true
  order by c.last_activity_at desc, c.id desc
--> statement-breakpoint
select m.role from workspaces w left join workspace_members m on m.workspace_id = w.id and m.user_id = $1
where w.app_id = $2 and w.id = $3
--> statement-breakpoint
select *, clock_timestamp() as now from messages where id = $1 and channel_id = $2 and deleted_at is null
--> statement-breakpoint
with before as (
  select count(distinct emoji)::int as kinds, coalesce(bool_or(emoji = $1), false) as is_known,
    coalesce(bool_or(emoji = $2 and user_id = $3), false) as is_own
  from reactions where message_id = $4
), added as (
  insert into reactions (app_id, message_id, emoji, user_id, created_at)
  select $5, $6, $7, $8, clock_timestamp() from before where not is_own and (is_known or kinds < $9)
)
select * from before
--> statement-breakpoint
select m.id, m.channel_id, m.user_id, m.text, m.seq, m.rev, m.mentions, m.attachments, m.link_previews, m.parent_id, m.reply_count,
  m.client_id, m.created_at, m.updated_at, m.edited_at, m.deleted_at, p.pinned_by, p.pinned_at,
  jsonb_build_object('id', author.id, 'name', author.display_name, 'image', author.image) as "user",
  coalesce((
    select jsonb_agg(jsonb_build_object('type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users) order by kind.first, kind.emoji)
    from (
      select r.emoji, count(*), coalesce(bool_or(r.user_id = $1), false) as own, min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by place) filter (where place <= 10) as users
      from (
        select app_id, user_id, emoji, created_at, row_number() over (partition by emoji order by created_at, user_id) as place
        from reactions where message_id = m.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ), '[]') as reactions
from messages m
join users author on author.app_id = m.app_id and author.id = m.user_id
left join pins p on p.message_id = m.id
where m.id = $2
--> statement-breakpoint
select id, display_name as name, image from users where app_id = $1 and id = any($2) and deleted_at is null order by id
--> statement-breakpoint
update messages m set rev = r.rev from unnest($1::uuid[], $2::int[]) as r (id, rev) where m.id = r.id
--> statement-breakpoint
select m.id, m.channel_id, m.user_id, m.text, m.seq, m.rev, m.mentions, m.attachments, m.link_previews, m.parent_id, m.reply_count,
  m.client_id, m.created_at, m.updated_at, m.edited_at, m.deleted_at, p.pinned_by, p.pinned_at,
  jsonb_build_object('id', author.id, 'name', author.display_name, 'image', author.image) as "user",
  coalesce((
    select jsonb_agg(jsonb_build_object('type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users) order by kind.first, kind.emoji)
    from (
      select r.emoji, count(*), coalesce(bool_or(r.user_id = m.user_id), false) as own, min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by place) filter (where place <= 10) as users
      from (
        select app_id, user_id, emoji, created_at, row_number() over (partition by emoji order by created_at, user_id) as place
        from reactions where message_id = m.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ), '[]') as reactions
from messages m
join users author on author.app_id = m.app_id and author.id = m.user_id
left join pins p on p.message_id = m.id
where m.id = any($1::uuid[])
--> statement-breakpoint
update messages set text = $1, mentions = $2, link_previews = $3, edited_at = $4, updated_at = $5 where id = $6
--> statement-breakpoint
with gone as (select * from jsonb_to_recordset($1) as g (id uuid, rev int, "replyCount" int, "deletedAt" timestamptz, envelope text)),
  reactions as (delete from reactions where message_id in (select id from gone)),
  pins as (delete from pins where message_id in (select id from gone)),
  kept as (update events e set envelope = gone.envelope from gone where e.message_id = gone.id),
  threads as (
    update messages m set reply_count = t."replyCount", rev = t.rev
    from jsonb_to_recordset($2) as t (id uuid, "replyCount" int, rev int)
    where m.id = t.id and t.id not in (select id from gone)
  )
update messages m
set text = '', mentions = '{}', attachments = '[]', link_previews = null, rev = gone.rev, reply_count = gone."replyCount",
  updated_at = gone."deletedAt", deleted_at = gone."deletedAt"
from gone where m.id = gone.id
--> statement-breakpoint
select from members where channel_id = $1 and role = 'owner' and user_id <> $2 limit 1
--> statement-breakpoint
select m.id, m.channel_id, m.user_id, m.text, m.seq, m.rev, m.mentions, m.attachments, m.link_previews, m.parent_id, m.reply_count,
  m.client_id, m.created_at, m.updated_at, m.edited_at, m.deleted_at, p.pinned_by, p.pinned_at,
  jsonb_build_object('id', author.id, 'name', author.display_name, 'image', author.image) as "user",
  coalesce((
    select jsonb_agg(jsonb_build_object('type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users) order by kind.first, kind.emoji)
    from (
      select r.emoji, count(*), coalesce(bool_or(r.user_id = $1), false) as own, min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by place) filter (where place <= 10) as users
      from (
        select app_id, user_id, emoji, created_at, row_number() over (partition by emoji order by created_at, user_id) as place
        from reactions where message_id = m.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ), '[]') as reactions
from messages m
join users author on author.app_id = m.app_id and author.id = m.user_id
left join pins p on p.message_id = m.id
where m.app_id = $2 and m.channel_id = $3 and m.user_id = $4 and m.client_id = $5
--> statement-breakpoint
select user_id from members m
where channel_id = $1 and exists (select from connections k where k.app_id = m.app_id and k.user_id = m.user_id)
--> statement-breakpoint
update channels set deleted_at = clock_timestamp(), client_id = null where id = $1
--> statement-breakpoint
select app_id, array_agg(id) as user_ids
from (select app_id, id from users where deleted_at is not null and forgotten_at is null order by deleted_at limit $1) u group by app_id
--> statement-breakpoint
select id from channels where deleted_at is not null order by deleted_at limit $1
--> statement-breakpoint
delete from messages where id in (select id from messages where channel_id = $1 limit $2 for update skip locked)
--> statement-breakpoint
delete from members where channel_id = $1 and user_id in (select user_id from members where channel_id = $2 limit $3 for update skip locked)
--> statement-breakpoint
delete from channels where id = $1 and deleted_at is not null
--> statement-breakpoint
delete from events where (topic, "offset") in (
  select topic, "offset" from events where created_at < now() - $1 * interval '1 hour' limit $2
)
--> statement-breakpoint
delete from workspace_invites where id in (select id from workspace_invites where expires_at < now() limit $1)
--> statement-breakpoint
delete from link_previews where (app_id, url_hash) in (select app_id, url_hash from link_previews where expires_at < now() limit $1 for update skip locked)
--> statement-breakpoint
delete from read_marks where (channel_id, user_id, seq) in (
  select channel_id, user_id, seq from read_marks a
  where a.read_at < now() - $1 * interval '1 day' and a.read_at > now() - $2 * interval '1 day'
    and exists (
      select from read_marks later
      where later.channel_id = a.channel_id and later.user_id = a.user_id and later.seq > a.seq
        and date_trunc('day', later.read_at, 'UTC') = date_trunc('day', a.read_at, 'UTC')
    )
  limit $3
)
--> statement-breakpoint
select c.id, c.cid, coalesce(c.name, peer.display_name, 'Deleted user') as name, c.type, coalesce(c.image, peer.image) as image, c.description,
    c.workspace_id, c.created_by, c.member_count, case when m.user_id is null then 0 else
  case when c.last_seq <= m.unread_after_seq then 0 else greatest(0, c.last_seq - m.unread_after_seq
    - (select count(*) from messages x where x.channel_id = c.id and x.user_id = m.user_id and x.seq > m.unread_after_seq)
    - (select count(*) from messages x where x.channel_id = c.id and x.deleted_at is not null and x.user_id <> m.user_id and x.seq > m.unread_after_seq))::int end end as unread_count,
    coalesce(m.last_read_seq, 0) as last_read_seq, m.role, coalesce(m.starred, false) as starred, coalesce(m.muted, false) as muted,
    c.rev, c.created_at, c.updated_at,
    (select x.id from messages x where x.channel_id = c.id and x.deleted_at is null order by x.seq desc limit 1) as last_message_id,
    case when $1 or c.type = 'messaging' then (
  select coalesce(jsonb_agg(jsonb_build_object('userId', f.user_id, 'user', jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image), 'role', f.role, 'joinedAt', to_char(f.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by f.joined_at, f.user_id), '[]')
  from (select f.* from members f where f.channel_id = c.id order by f.joined_at, f.user_id limit $2) f join users u on u.app_id = f.app_id and u.id = f.user_id
) end as members
  from (
    select c.* from channels c left join members m on m.channel_id = c.id and m.user_id = $3
    where c.app_id = $4 and c.deleted_at is null and m.user_id is not null and c.type = $5 and true order by c.last_activity_at desc, c.id desc limit $6 offset $7
  ) c
  left join members m on m.channel_id = c.id and m.user_id = $8
  left join lateral (
  select u.display_name, u.image from members p join users u on u.app_id = p.app_id and u.id = p.user_id
  where c.type = 'messaging' and p.channel_id = c.id and p.user_id <> $9 limit 1) peer on true
  order by c.last_activity_at desc, c.id desc
--> statement-breakpoint
select c.id, c.cid, coalesce(c.name, peer.display_name, 'Deleted user') as name, c.type, coalesce(c.image, peer.image) as image, c.description,
    c.workspace_id, c.created_by, c.member_count, case when m.user_id is null then 0 else
  case when c.last_seq <= m.unread_after_seq then 0 else greatest(0, c.last_seq - m.unread_after_seq
    - (select count(*) from messages x where x.channel_id = c.id and x.user_id = m.user_id and x.seq > m.unread_after_seq)
    - (select count(*) from messages x where x.channel_id = c.id and x.deleted_at is not null and x.user_id <> m.user_id and x.seq > m.unread_after_seq))::int end end as unread_count,
    coalesce(m.last_read_seq, 0) as last_read_seq, m.role, coalesce(m.starred, false) as starred, coalesce(m.muted, false) as muted,
    c.rev, c.created_at, c.updated_at,
    (select x.id from messages x where x.channel_id = c.id and x.deleted_at is null order by x.seq desc limit 1) as last_message_id,
    case when $1 or c.type = 'messaging' then (
  select coalesce(jsonb_agg(jsonb_build_object('userId', f.user_id, 'user', jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image), 'role', f.role, 'joinedAt', to_char(f.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by f.joined_at, f.user_id), '[]')
  from (select f.* from members f where f.channel_id = c.id order by f.joined_at, f.user_id limit $2) f join users u on u.app_id = f.app_id and u.id = f.user_id
) end as members
  from (
    select c.* from channels c left join members m on m.channel_id = c.id and m.user_id = $3
    where c.app_id = $4 and c.deleted_at is null and (
  c.type in ('public', 'livestream')
  or (c.type = 'team' and exists (select from workspace_members w where w.workspace_id = c.workspace_id and w.user_id = $5))
) and true and coalesce(c.name, (select display_name from (
  select u.display_name, u.image from members p join users u on u.app_id = p.app_id and u.id = p.user_id
  where c.type = 'messaging' and p.channel_id = c.id and p.user_id <> $6 limit 1) peer)) ilike $7 order by c.last_activity_at desc, c.id desc limit $8 offset $9
  ) c
  left join members m on m.channel_id = c.id and m.user_id = $10
  left join lateral (
  select u.display_name, u.image from members p join users u on u.app_id = p.app_id and u.id = p.user_id
  where c.type = 'messaging' and p.channel_id = c.id and p.user_id <> $11 limit 1) peer on true
  order by c.last_activity_at desc, c.id desc
--> statement-breakpoint
select c.id, c.cid, coalesce(c.name, peer.display_name, 'Deleted user') as name, c.type, coalesce(c.image, peer.image) as image, c.description,
    c.workspace_id, c.created_by, c.member_count, case when m.user_id is null then 0 else
  case when c.last_seq <= m.unread_after_seq then 0 else greatest(0, c.last_seq - m.unread_after_seq
    - (select count(*) from messages x where x.channel_id = c.id and x.user_id = m.user_id and x.seq > m.unread_after_seq)
    - (select count(*) from messages x where x.channel_id = c.id and x.deleted_at is not null and x.user_id <> m.user_id and x.seq > m.unread_after_seq))::int end end as unread_count,
    coalesce(m.last_read_seq, 0) as last_read_seq, m.role, coalesce(m.starred, false) as starred, coalesce(m.muted, false) as muted,
    c.rev, c.created_at, c.updated_at,
    (select x.id from messages x where x.channel_id = c.id and x.deleted_at is null order by x.seq desc limit 1) as last_message_id,
    case when $1 or c.type = 'messaging' then (
  select coalesce(jsonb_agg(jsonb_build_object('userId', f.user_id, 'user', jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image), 'role', f.role, 'joinedAt', to_char(f.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by f.joined_at, f.user_id), '[]')
  from (select f.* from members f where f.channel_id = c.id order by f.joined_at, f.user_id limit $2) f join users u on u.app_id = f.app_id and u.id = f.user_id
) end as members
  from (
    select c.* from channels c left join members m on m.channel_id = c.id and m.user_id = $3
    where c.app_id = $4 and c.deleted_at is null and (
  c.type in ('public', 'livestream')
  or (c.type = 'team' and exists (select from workspace_members w where w.workspace_id = c.workspace_id and w.user_id = $5))
) and true and true order by c.last_activity_at desc, c.id desc limit $6 offset $7
  ) c
  left join members m on m.channel_id = c.id and m.user_id = $8
  left join lateral (
  select u.display_name, u.image from members p join users u on u.app_id = p.app_id and u.id = p.user_id
  where c.type = 'messaging' and p.channel_id = c.id and p.user_id <> $9 limit 1) peer on true
  order by c.last_activity_at desc, c.id desc
--> statement-breakpoint
select c.id, c.cid, coalesce(c.name, peer.display_name, 'Deleted user') as name, c.type, coalesce(c.image, peer.image) as image, c.description,
    c.workspace_id, c.created_by, c.member_count, case when m.user_id is null then 0 else
  case when c.last_seq <= m.unread_after_seq then 0 else greatest(0, c.last_seq - m.unread_after_seq
    - (select count(*) from messages x where x.channel_id = c.id and x.user_id = m.user_id and x.seq > m.unread_after_seq)
    - (select count(*) from messages x where x.channel_id = c.id and x.deleted_at is not null and x.user_id <> m.user_id and x.seq > m.unread_after_seq))::int end end as unread_count,
    coalesce(m.last_read_seq, 0) as last_read_seq, m.role, coalesce(m.starred, false) as starred, coalesce(m.muted, false) as muted,
    c.rev, c.created_at, c.updated_at,
    (select x.id from messages x where x.channel_id = c.id and x.deleted_at is null order by x.seq desc limit 1) as last_message_id,
    case when $1 or c.type = 'messaging' then (
  select coalesce(jsonb_agg(jsonb_build_object('userId', f.user_id, 'user', jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image), 'role', f.role, 'joinedAt', to_char(f.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by f.joined_at, f.user_id), '[]')
  from (select f.* from members f where f.channel_id = c.id order by f.joined_at, f.user_id limit $2) f join users u on u.app_id = f.app_id and u.id = f.user_id
) end as members
  from (
    select c.* from channels c left join members m on m.channel_id = c.id and m.user_id = $3
    where c.app_id = $4 and c.deleted_at is null and m.user_id is not null and true and coalesce(c.name, (select display_name from (
  select u.display_name, u.image from members p join users u on u.app_id = p.app_id and u.id = p.user_id
  where c.type = 'messaging' and p.channel_id = c.id and p.user_id <> $5 limit 1) peer)) ilike $6 order by c.last_activity_at desc, c.id desc limit $7 offset $8
  ) c
  left join members m on m.channel_id = c.id and m.user_id = $9
  left join lateral (
  select u.display_name, u.image from members p join users u on u.app_id = p.app_id and u.id = p.user_id
  where c.type = 'messaging' and p.channel_id = c.id and p.user_id <> $10 limit 1) peer on true
  order by c.last_activity_at desc, c.id desc
--> statement-breakpoint
update nodes set beat_at = now() - $1 * interval '1 millisecond' where id = $2
--> statement-breakpoint
select m.id, m.channel_id, m.user_id, m.text, m.seq, m.rev, m.mentions, m.attachments, m.link_previews, m.parent_id, m.reply_count,
  m.client_id, m.created_at, m.updated_at, m.edited_at, m.deleted_at, p.pinned_by, p.pinned_at,
  jsonb_build_object('id', author.id, 'name', author.display_name, 'image', author.image) as "user",
  coalesce((
    select jsonb_agg(jsonb_build_object('type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users) order by kind.first, kind.emoji)
    from (
      select r.emoji, count(*), coalesce(bool_or(r.user_id = $1), false) as own, min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by place) filter (where place <= 10) as users
      from (
        select app_id, user_id, emoji, created_at, row_number() over (partition by emoji order by created_at, user_id) as place
        from reactions where message_id = m.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ), '[]') as reactions
from messages m
join users author on author.app_id = m.app_id and author.id = m.user_id
left join pins p on p.message_id = m.id
where m.parent_id = $2 and m.deleted_at is null and m.seq < $3 order by m.seq desc limit $4
--> statement-breakpoint
select id, reply_count from messages where id = any($1::uuid[])
--> statement-breakpoint
update channels set name = $1, image = $2, description = $3, updated_at = clock_timestamp() where id = $4 returning *
--> statement-breakpoint
with before as (
  select count(*)::int as pins, coalesce(bool_or(message_id = $1), false) as is_pinned from pins where channel_id = $2
), pinned as (
  insert into pins (app_id, channel_id, message_id, pinned_by, pinned_at)
  select $3, $4, $5, $6, clock_timestamp() from before where not is_pinned and pins < $7
)
select * from before
--> statement-breakpoint
select id from users where app_id = $1 and id = any($2) and deleted_at is null order by id for update
--> statement-breakpoint
select id from workspaces
where id in (select workspace_id from workspace_members where app_id = $1 and user_id = any($2) and true) order by id for no key update
--> statement-breakpoint
with devices as (delete from devices where app_id = $1 and user_id = any($2)),
  preferences as (delete from preferences where app_id = $3 and user_id = any($4))
update users
set name = null, email = null, image = null, custom = '{}', last_active_at = null, token_generation = token_generation + 1,
  updated_at = clock_timestamp(), deleted_at = clock_timestamp()
where app_id = $5 and id = any($6)
--> statement-breakpoint
select m.id, m.channel_id, m.user_id, m.text, m.seq, m.rev, m.mentions, m.attachments, m.link_previews, m.parent_id, m.reply_count,
  m.client_id, m.created_at, m.updated_at, m.edited_at, m.deleted_at, p.pinned_by, p.pinned_at,
  jsonb_build_object('id', author.id, 'name', author.display_name, 'image', author.image) as "user",
  coalesce((
    select jsonb_agg(jsonb_build_object('type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users) order by kind.first, kind.emoji)
    from (
      select r.emoji, count(*), coalesce(bool_or(r.user_id = $1), false) as own, min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by place) filter (where place <= 10) as users
      from (
        select app_id, user_id, emoji, created_at, row_number() over (partition by emoji order by created_at, user_id) as place
        from reactions where message_id = m.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ), '[]') as reactions
from messages m
join users author on author.app_id = m.app_id and author.id = m.user_id
left join pins p on p.message_id = m.id
where m.parent_id = $2 and m.deleted_at is null and m.seq > $3 order by m.seq limit $4
--> statement-breakpoint
select p.app_id, p.channel_id, p.user_id
from (select app_id, channel_id, user_id from members union select app_id, channel_id, user_id from former_members) p
join users u on u.app_id = p.app_id and u.id = p.user_id and u.deleted_at is not null and u.forgotten_at is null
join channels c on c.id = p.channel_id and c.deleted_at is null
where p.app_id = $1 and p.user_id = any($2) limit $3
--> statement-breakpoint
select id, display_name as name, image from users
where app_id = $1 and id = $2 and deleted_at is not null and forgotten_at is null for share
--> statement-breakpoint
select * from channels where app_id = $1 and id = $2 and deleted_at is null
--> statement-breakpoint
select role from members where channel_id = $1 and user_id = $2
--> statement-breakpoint
select coalesce(sum(
case when c.last_seq <= m.unread_after_seq then 0 else greatest(0, c.last_seq - m.unread_after_seq
  - (select count(*) from messages x where x.channel_id = c.id and x.user_id = m.user_id and x.seq > m.unread_after_seq)
  - (select count(*) from messages x where x.channel_id = c.id and x.deleted_at is not null and x.user_id <> m.user_id and x.seq > m.unread_after_seq))::int end), 0)::int as count
  from members m join channels c on c.id = m.channel_id and c.deleted_at is null
  where m.app_id = $1 and m.user_id = $2
--> statement-breakpoint
delete from reactions r using (
  select o.message_id, o.emoji from reactions o join messages m on m.id = o.message_id
  where o.app_id = $1 and o.user_id = $2 and m.channel_id = $3 order by m.seq limit $4
) gone
where r.message_id = gone.message_id and r.emoji = gone.emoji and r.user_id = $5
returning r.message_id, r.emoji
--> statement-breakpoint
select *, clock_timestamp() as now from messages
where channel_id = $1 and user_id = $2 and (deleted_at is null or client_id is not null) order by seq limit $3
--> statement-breakpoint
update messages set client_id = null where id = any($1::uuid[])
--> statement-breakpoint
with former as (delete from former_members where channel_id = $1 and user_id = $2)
update channels set dm_key = null, client_id = case when created_by = $3 then null else client_id end
where id = $4 and (dm_key is not null or (created_by = $5 and client_id is not null))
--> statement-breakpoint
update users u set forgotten_at = clock_timestamp()
where (u.app_id, u.id) in (
    select app_id, id from users where app_id = $1 and id = any($2) and deleted_at is not null and forgotten_at is null order by id for no key update
  )
  and not exists (select from members p join channels c on c.id = p.channel_id and c.deleted_at is null where p.app_id = u.app_id and p.user_id = u.id)
  and not exists (select from former_members p join channels c on c.id = p.channel_id and c.deleted_at is null where p.app_id = u.app_id and p.user_id = u.id)
returning u.id
--> statement-breakpoint
delete from events where topic = any($1)
--> statement-breakpoint
select m.id, m.channel_id, m.user_id, m.text, m.seq, m.rev, m.mentions, m.attachments, m.link_previews, m.parent_id, m.reply_count,
  m.client_id, m.created_at, m.updated_at, m.edited_at, m.deleted_at, p.pinned_by, p.pinned_at,
  jsonb_build_object('id', author.id, 'name', author.display_name, 'image', author.image) as "user",
  coalesce((
    select jsonb_agg(jsonb_build_object('type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users) order by kind.first, kind.emoji)
    from (
      select r.emoji, count(*), coalesce(bool_or(r.user_id = $1), false) as own, min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by place) filter (where place <= 10) as users
      from (
        select app_id, user_id, emoji, created_at, row_number() over (partition by emoji order by created_at, user_id) as place
        from reactions where message_id = m.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ), '[]') as reactions
from messages m
join users author on author.app_id = m.app_id and author.id = m.user_id
left join pins p on p.message_id = m.id
where m.channel_id = $2 and m.seq > $3 order by m.seq limit $4
--> statement-breakpoint
select m.id, m.channel_id, m.user_id, m.text, m.seq, m.rev, m.mentions, m.attachments, m.link_previews, m.parent_id, m.reply_count,
  m.client_id, m.created_at, m.updated_at, m.edited_at, m.deleted_at, p.pinned_by, p.pinned_at,
  jsonb_build_object('id', author.id, 'name', author.display_name, 'image', author.image) as "user",
  coalesce((
    select jsonb_agg(jsonb_build_object('type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users) order by kind.first, kind.emoji)
    from (
      select r.emoji, count(*), coalesce(bool_or(r.user_id = $1), false) as own, min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by place) filter (where place <= 10) as users
      from (
        select app_id, user_id, emoji, created_at, row_number() over (partition by emoji order by created_at, user_id) as place
        from reactions where message_id = m.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ), '[]') as reactions
from messages m
join users author on author.app_id = m.app_id and author.id = m.user_id
left join pins p on p.message_id = m.id
where p.channel_id = $2 order by p.pinned_at desc, m.seq desc
--> statement-breakpoint
update members set starred = $1, muted = $2 where channel_id = $3 and user_id = $4
--> statement-breakpoint
select m.id, m.channel_id, m.user_id, m.text, m.seq, m.rev, m.mentions, m.attachments, m.link_previews, m.parent_id, m.reply_count,
  m.client_id, m.created_at, m.updated_at, m.edited_at, m.deleted_at, p.pinned_by, p.pinned_at,
  jsonb_build_object('id', author.id, 'name', author.display_name, 'image', author.image) as "user",
  coalesce((
    select jsonb_agg(jsonb_build_object('type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users) order by kind.first, kind.emoji)
    from (
      select r.emoji, count(*), coalesce(bool_or(r.user_id = $1), false) as own, min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by place) filter (where place <= 10) as users
      from (
        select app_id, user_id, emoji, created_at, row_number() over (partition by emoji order by created_at, user_id) as place
        from reactions where message_id = m.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ), '[]') as reactions
from messages m
join users author on author.app_id = m.app_id and author.id = m.user_id
left join pins p on p.message_id = m.id
where m.channel_id = $2 and m.deleted_at is null and m.seq > $3 order by m.seq limit $4
--> statement-breakpoint
select u.token_generation
from unnest($1::uuid[], $2::text[]) with ordinality as r (app_id, user_id, place)
left join users u on u.app_id = r.app_id and u.id = r.user_id and u.deleted_at is null
order by r.place
--> statement-breakpoint
select from users u join unnest($1::uuid[], $2::text[]) as w (app_id, user_id) on u.app_id = w.app_id and u.id = w.user_id
order by u.app_id, u.id for no key update of u
--> statement-breakpoint
with wanted as (
  select * from unnest($1::uuid[], $2::text[], $3::text[]::boolean[]) as w (app_id, user_id, is_arriving)
), added as (
  insert into connections (node_id, app_id, user_id) select $4, app_id, user_id from wanted where is_arriving
  on conflict do nothing returning app_id, user_id
), removed as (
  delete from connections k using wanted w
  where not w.is_arriving and k.node_id = $5 and k.app_id = w.app_id and k.user_id = w.user_id returning k.app_id, k.user_id
)
select w.*, u.last_active_at from wanted w
join (select * from added union all select * from removed) changed using (app_id, user_id)
join users u on u.app_id = w.app_id and u.id = w.user_id
where not exists (
  select from connections o join nodes n on n.id = o.node_id
  where o.app_id = w.app_id and o.user_id = w.user_id and o.node_id <> $6 and n.beat_at > now() - $7 * interval '1 millisecond'
)
--> statement-breakpoint
select distinct r.place::int, k.app_id, k.user_id
from unnest(
  $1::uuid[], $2::text[], $3::text[]::boolean[]
) with ordinality as r (app_id, user_id, is_small_only, place)
join members m on m.app_id = r.app_id and m.user_id = r.user_id
join channels c on c.id = m.channel_id and c.deleted_at is null
  and case when r.is_small_only then c.type <> 'livestream' and c.member_count <= $4 else c.type <> 'livestream' or c.member_count <= $5 end
join members o on o.channel_id = c.id and o.user_id <> r.user_id
join connections k on k.node_id = $6 and k.app_id = o.app_id and k.user_id = o.user_id
--> statement-breakpoint
select r.type, r.role, r.workspace_role, r.epoch, r.top, missed.missed
from (
  select *, sum(greatest(top - since, 0)) over (partition by frame order by place) as missing
  from (
    select r.topic, r.since, r.frame, r.place, c.type, m.role, w.role as workspace_role, e.value as epoch,
      case when r.channel_id is null then coalesce(s.last_offset, 0) else c.rev end as top
    from unnest(
      $1::text[], $2::uuid[],
      $3::uuid[], $4::text[], $5::int[],
      $6::int[]
    ) with ordinality as r (topic, channel_id, app_id, user_id, since, frame, place)
    join service e on e.key = 'epoch'
    left join channels c on c.id = r.channel_id and c.app_id = r.app_id and c.deleted_at is null
    left join members m on m.channel_id = c.id and m.user_id = r.user_id
    left join workspace_members w on w.workspace_id = c.workspace_id and w.user_id = r.user_id
    left join user_streams s on r.channel_id is null and s.app_id = r.app_id and s.user_id = r.user_id
  ) placed
) r
left join lateral (
  select json_agg(json_build_array(k."offset", k.envelope, k.message_id) order by k."offset") as missed
  from events k where k.topic = r.topic and k."offset" > r.since and k."offset" <= r.top
) missed on r.since is not null and r.missing <= $7
order by r.place
--> statement-breakpoint
with before as (
  select app_id, channel_id, user_id, last_read_seq from members where channel_id = $1 and user_id = $2 for no key update
), marked as (
  insert into read_marks (app_id, channel_id, user_id, seq)
  select app_id, channel_id, user_id, $3 from before where last_read_seq < $4
  on conflict do nothing
  returning read_at
), moved as (
  update members m
  set last_read_seq = greatest(m.last_read_seq, $5), unread_after_seq = greatest(m.unread_after_seq, $6)
  from before where m.channel_id = before.channel_id and m.user_id = before.user_id
  returning m.channel_id, m.user_id, m.last_read_seq
)
select moved.last_read_seq, message.id as last_read_message_id, coalesce((select read_at from marked), mark.read_at, now()) as read_at
from moved
left join messages message on message.channel_id = moved.channel_id and message.seq = moved.last_read_seq
left join read_marks mark on mark.channel_id = moved.channel_id and mark.user_id = moved.user_id and mark.seq = moved.last_read_seq
--> statement-breakpoint
select coalesce(sum(unread) filter (where id = $1), 0)::int as count, coalesce(sum(unread), 0)::int as total
  from (
    select c.id,
case when c.last_seq <= m.unread_after_seq then 0 else greatest(0, c.last_seq - m.unread_after_seq
  - (select count(*) from messages x where x.channel_id = c.id and x.user_id = m.user_id and x.seq > m.unread_after_seq)
  - (select count(*) from messages x where x.channel_id = c.id and x.deleted_at is not null and x.user_id <> m.user_id and x.seq > m.unread_after_seq))::int end as unread from members m join channels c on c.id = m.channel_id and c.deleted_at is null
    where m.app_id = $2 and m.user_id = $3
  ) mine
--> statement-breakpoint
select m.app_id, m.user_id, m.channel_id,
case when c.last_seq <= m.unread_after_seq then 0 else greatest(0, c.last_seq - m.unread_after_seq
  - (select count(*) from messages x where x.channel_id = c.id and x.user_id = m.user_id and x.seq > m.unread_after_seq)
  - (select count(*) from messages x where x.channel_id = c.id and x.deleted_at is not null and x.user_id <> m.user_id and x.seq > m.unread_after_seq))::int end as count
from channels c
join members m on m.channel_id = c.id
join connections k on k.node_id = $1 and k.app_id = m.app_id and k.user_id = m.user_id
where c.id = any($2::uuid[]) and c.deleted_at is null and (c.type <> 'livestream' or c.member_count <= $3)
--> statement-breakpoint
select m.app_id, m.user_id, m.channel_id,
case when c.last_seq <= m.unread_after_seq then 0 else greatest(0, c.last_seq - m.unread_after_seq
  - (select count(*) from messages x where x.channel_id = c.id and x.user_id = m.user_id and x.seq > m.unread_after_seq)
  - (select count(*) from messages x where x.channel_id = c.id and x.deleted_at is not null and x.user_id <> m.user_id and x.seq > m.unread_after_seq))::int end as count
from unnest($1::uuid[], $2::text[]) as r (app_id, user_id)
join members m on m.app_id = r.app_id and m.user_id = r.user_id
join channels c on c.id = m.channel_id and c.deleted_at is null
--> statement-breakpoint
select * from (
  select r.topic, r.after, coalesce(c.rev, s.last_offset, (select max(e."offset") from events e where e.topic = r.topic)) as top
  from unnest(
    $1::text[], $2::uuid[],
    $3::uuid[], $4::text[],
    $5::int[]
  ) as r (topic, channel_id, app_id, user_id, after)
  left join channels c on c.id = r.channel_id
  left join user_streams s on s.app_id = r.app_id and s.user_id = r.user_id
) t where top > after
--> statement-breakpoint
select u.id, u.display_name as name, u.image, u.last_active_at, u.custom, u.email,
  exists (
    select from connections s join nodes n on n.id = s.node_id
    where s.app_id = u.app_id and s.user_id = u.id and n.beat_at > now() - $1 * interval '1 second'
  ) as online
from users u where u.app_id = $2 and u.deleted_at is null and u.id = $3
--> statement-breakpoint
select u.display_name as name, u.image, coalesce(mark.read_at, now()) as read_at
from users u
left join lateral (
  select read_at from read_marks k where k.channel_id = $1 and k.user_id = u.id and k.seq >= $2 order by k.seq limit 1
) mark on true
where u.app_id = $3 and u.id = $4
--> statement-breakpoint
select u.id, u.display_name as name, u.image, u.last_active_at, u.custom, u.email,
  exists (
    select from connections s join nodes n on n.id = s.node_id
    where s.app_id = u.app_id and s.user_id = u.id and n.beat_at > now() - $1 * interval '1 second'
  ) as online
from users u where u.app_id = $2 and u.deleted_at is null and u.display_name ilike $3 order by u.display_name, u.id limit $4 offset $5
--> statement-breakpoint
select id from nodes where id = $1 and beat_at < now() - $2 * interval '1 millisecond' for update skip locked
--> statement-breakpoint
select from users u join connections k on k.app_id = u.app_id and k.user_id = u.id where k.node_id = $1 order by u.app_id, u.id for no key update of u
--> statement-breakpoint
delete from nodes where id = $1
--> statement-breakpoint
delete from connections k using users u where k.node_id = $1 and u.app_id = k.app_id and u.id = k.user_id
returning k.app_id, k.user_id, u.last_active_at
--> statement-breakpoint
select g.app_id, g.user_id, u.last_active_at
from unnest($1::uuid[], $2::text[]) as g (app_id, user_id)
join users u on u.app_id = g.app_id and u.id = g.user_id
where not exists (select from connections o join nodes n on n.id = o.node_id where o.app_id = g.app_id and o.user_id = g.user_id)
--> statement-breakpoint
select k.user_id as "user", k.node_id from connections k join nodes n on n.id = k.node_id where k.app_id = $1 and k.user_id = $2 limit $3
--> statement-breakpoint
insert into workspaces (id, app_id, name, type, image, created_by) values ($1, $2, $3, $4, $5, $6)
--> statement-breakpoint
insert into workspace_members (app_id, workspace_id, user_id, role) values ($1, $2, $3, 'owner')
--> statement-breakpoint
select * from (
  select w.id, w.name, w.type, w.image, m.role, w.created_at, w.updated_at,
    row_number() over (order by m.joined_at, w.id) = 1 as is_default,
    (select count(*)::int from workspace_members f where f.workspace_id = w.id) as member_count,
    (select count(*)::int from channels c where c.workspace_id = w.id and c.deleted_at is null) as channel_count
  from workspace_members m join workspaces w on w.id = m.workspace_id
  where m.app_id = $1 and m.user_id = $2
  order by m.joined_at, w.id
) w where w.id = $3
--> statement-breakpoint
insert into workspace_invites (id, app_id, workspace_id, token_hash, role, max_uses, created_by, expires_at)
values ($1, $2, $3, $4, $5, $6, $7, now() + $8 * interval '1 day')
returning expires_at
--> statement-breakpoint
select k.app_id, k.user_id, e.envelope
from events e join members m on m.channel_id = $1
join connections k on k.node_id = $2 and k.app_id = m.app_id and k.user_id = m.user_id
where e.topic = $3 and e."offset" = $4
--> statement-breakpoint
select u.id, u.display_name as name, u.image, u.last_active_at, u.custom, u.email,
  exists (
    select from connections s join nodes n on n.id = s.node_id
    where s.app_id = u.app_id and s.user_id = u.id and n.beat_at > now() - $1 * interval '1 second'
  ) as online
from users u where u.app_id = $2 and u.deleted_at is null and true order by u.display_name, u.id limit $3 offset $4
--> statement-breakpoint
select "offset", envelope, message_id from events where topic = $1 and true order by "offset" asc limit $2
--> statement-breakpoint
select k.user_id as "user", k.node_id from connections k join nodes n on n.id = k.node_id where k.app_id = $1 and exists (select from members m where m.channel_id = $2 and m.user_id = k.user_id) limit $3
--> statement-breakpoint
select e.topic, e."offset", e.envelope, e.message_id
from unnest($1::text[], $2::int[]) as r (topic, after)
cross join lateral (select * from events e where e.topic = r.topic and e."offset" > r.after order by e."offset" limit 500) e
order by e.topic, e."offset"
--> statement-breakpoint
insert into staged_jobs (task, payload)
select task, payload::json from unnest($1::text[], $2::text[]) as j (task, payload)
--> statement-breakpoint
with counted as (
  update channels c
  set rev = n.rev, last_seq = n.last_seq,
    last_activity_at = case when n.last_seq > c.last_seq then clock_timestamp() else c.last_activity_at end
  from unnest(
    $1::uuid[], $2::int[], $3::int[]
  ) as n (id, rev, last_seq)
  where c.id = n.id
), promised as (
insert into staged_jobs (task, payload)
select task, payload::json from unnest($4::text[], $5::text[]) as j (task, payload))
insert into events (topic, "offset", envelope, message_id)
select * from unnest(
  $6::text[], $7::int[],
  $8::text[], $9::uuid[]
)
--> statement-breakpoint
select from users where app_id = $1 and id = $2 and deleted_at is null for no key update
--> statement-breakpoint
select id, user_id, provider, false as is_same_device from devices
where app_id = $1 and (token = $2 or false) order by id for update
--> statement-breakpoint
select count(*)::int from devices where app_id = $1 and user_id = $2
--> statement-breakpoint
insert into devices as d (id, app_id, user_id, platform, provider, token, device_id, app_version)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (app_id, token) do update set
  user_id = excluded.user_id, platform = excluded.platform, provider = excluded.provider, token = excluded.token,
  device_id = case when d.user_id = excluded.user_id then coalesce(excluded.device_id, d.device_id) else excluded.device_id end,
  app_version = excluded.app_version, updated_at = clock_timestamp()
returning id, platform, provider, created_at
--> statement-breakpoint
insert into preferences as p (app_id, user_id, chosen) values ($1, $2, $3)
on conflict (app_id, user_id) do update set chosen = p.chosen || excluded.chosen, updated_at = clock_timestamp()
returning chosen
--> statement-breakpoint
update users set token_generation = token_generation + 1 where app_id = $1 and id = $2 and deleted_at is null
--> statement-breakpoint
select chosen from preferences where app_id = $1 and user_id = $2
--> statement-breakpoint
insert into job_workers (id, seen_at) select *, clock_timestamp() from unnest($1::text[])
on conflict (id) do update set seen_at = excluded.seen_at
--> statement-breakpoint
delete from job_workers where seen_at < clock_timestamp() - make_interval(secs => $1)
--> statement-breakpoint
select id, display_name as name, email, image from users where app_id = $1 and id = $2 and deleted_at is null
--> statement-breakpoint
select channel_id, text from messages where app_id = $1 and id = $2 and deleted_at is null
--> statement-breakpoint
select c.id as channel_id, coalesce(c.name, '') as channel_name, coalesce(c.description, '') as channel_description,
  inviter.id as invited_by, inviter.display_name as invited_by_name, f.user_id, f.joined_at, p.chosen
from channels c
join users inviter on inviter.app_id = c.app_id and inviter.id = $1 and inviter.deleted_at is null
join members f on f.channel_id = c.id and f.user_id = any($2) and f.user_id <> inviter.id
join users u on u.app_id = f.app_id and u.id = f.user_id and u.deleted_at is null
left join preferences p on p.app_id = f.app_id and p.user_id = f.user_id
where c.app_id = $3 and c.id = $4 and c.deleted_at is null
--> statement-breakpoint
select m.app_id, m.id as message_id, m.parent_id as thread_id, m.text, m.channel_id, coalesce(c.name, author.display_name) as channel_name,
  author.id as sender_id, author.display_name as sender_name, coalesce(author.image, '') as sender_avatar, page.readers, page.last_id
from unnest(
  $1::uuid[], $2::uuid[], $3::text[]
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
  select case when count(*) = $4::int then max(f.user_id) end as last_id,
    coalesce(json_agg(json_build_object(
      'userId', f.user_id, 'isMuted', f.muted, 'chosen', p.chosen,
      'isMentioned', f.user_id = any(m.mentions) or coalesce(lower(replace(u.display_name, ' ', '-')) = any(named.names), false),
      'isInThread', coalesce(f.user_id = any(thread.user_ids), false)
    )) filter (where u.id is not null), '[]') as readers
  from (
    select app_id, user_id, muted from members where channel_id = m.channel_id and user_id > j.after and user_id <> m.user_id order by user_id limit $5
  ) f
  left join users u on u.app_id = f.app_id and u.id = f.user_id and u.deleted_at is null
  left join preferences p on p.app_id = f.app_id and p.user_id = f.user_id
) page
--> statement-breakpoint
select url_hash, preview from link_previews where app_id = $1 and url_hash = any($2) and expires_at > now()
--> statement-breakpoint
insert into link_previews as p (app_id, url_hash, preview, expires_at)
select $1, hash, preview::jsonb, now() + make_interval(secs => seconds)
from unnest(
  $2::text[], $3::text[],
  $4::int[]
) as f (hash, preview, seconds)
on conflict (app_id, url_hash) do update set preview = excluded.preview, expires_at = excluded.expires_at
--> statement-breakpoint
update messages set link_previews = $1, updated_at = $2 where id = $3
--> statement-breakpoint
delete from job_workers where id = any($1)
--> statement-breakpoint
delete from reactions where message_id = $1 and emoji = $2 and user_id = $3
--> statement-breakpoint
delete from pins where message_id = $1
--> statement-breakpoint
with asked as (
  select id, seq, user_id as author_id from messages where channel_id = $1 and id = any($2::uuid[]) and deleted_at is null
), reader as materialized (
  select user_id, last_read_seq from members
  where channel_id = $3 and last_read_seq >= (select min(seq) from asked) order by last_read_seq desc, user_id
), counted as (
  select id, sum(one) over (order by seq desc, one desc rows unbounded preceding) as readers
  from (select null::uuid as id, last_read_seq as seq, 1 as one from reader union all select id, seq, 0 from asked) line
)
select a.id as message_id, (c.readers - case when author.last_read_seq >= a.seq then 1 else 0 end)::int as read_count,
  coalesce((
    select jsonb_agg(jsonb_build_object('userId', u.id, 'name', u.display_name, 'image', u.image, 'readAt', to_char(mark.read_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by mark.read_at, u.id)
    from (
      select user_id from (select * from reader limit $4) farthest
      where last_read_seq >= a.seq and user_id <> a.author_id limit $5
    ) r
    join messages m on m.id = a.id
    join users u on u.app_id = m.app_id and u.id = r.user_id
    cross join lateral (
      select read_at from read_marks k where k.channel_id = $6 and k.user_id = r.user_id and k.seq >= a.seq order by k.seq limit 1
    ) mark
  ), '[]') as readers
from asked a
join counted c on c.id = a.id
left join members author on author.channel_id = $7 and author.user_id = a.author_id
--> statement-breakpoint
select f.user_id, u.display_name as name, u.image, x.id as last_read_message_id, f.last_read_seq
from members f
join users u on u.app_id = f.app_id and u.id = f.user_id
left join messages x on x.channel_id = f.channel_id and x.seq = f.last_read_seq
where f.channel_id = $1 order by f.joined_at, f.user_id limit $2 offset $3
--> statement-breakpoint
select c.id, c.cid, coalesce(c.name, peer.display_name, 'Deleted user') as name, c.type, coalesce(c.image, peer.image) as image, c.description,
    c.workspace_id, c.created_by, c.member_count, case when m.user_id is null then 0 else
  case when c.last_seq <= m.unread_after_seq then 0 else greatest(0, c.last_seq - m.unread_after_seq
    - (select count(*) from messages x where x.channel_id = c.id and x.user_id = m.user_id and x.seq > m.unread_after_seq)
    - (select count(*) from messages x where x.channel_id = c.id and x.deleted_at is not null and x.user_id <> m.user_id and x.seq > m.unread_after_seq))::int end end as unread_count,
    coalesce(m.last_read_seq, 0) as last_read_seq, m.role, coalesce(m.starred, false) as starred, coalesce(m.muted, false) as muted,
    c.rev, c.created_at, c.updated_at,
    (select x.id from messages x where x.channel_id = c.id and x.deleted_at is null order by x.seq desc limit 1) as last_message_id,
    case when $1 or c.type = 'messaging' then (
  select coalesce(jsonb_agg(jsonb_build_object('userId', f.user_id, 'user', jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image), 'role', f.role, 'joinedAt', to_char(f.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by f.joined_at, f.user_id), '[]')
  from (select f.* from members f where f.channel_id = c.id order by f.joined_at, f.user_id limit $2) f join users u on u.app_id = f.app_id and u.id = f.user_id
) end as members
  from (
    select c.* from channels c left join members m on m.channel_id = c.id and m.user_id = $3
    where c.app_id = $4 and c.deleted_at is null and c.id = any($5::uuid[]) and m.user_id is not null
  ) c
  left join members m on m.channel_id = c.id and m.user_id = $6
  left join lateral (
  select u.display_name, u.image from members p join users u on u.app_id = p.app_id and u.id = p.user_id
  where c.type = 'messaging' and p.channel_id = c.id and p.user_id <> $7 limit 1) peer on true
  order by c.last_activity_at desc, c.id desc
--> statement-breakpoint
select m.id, m.channel_id, m.user_id, m.text, m.seq, m.rev, m.mentions, m.attachments, m.link_previews, m.parent_id, m.reply_count,
  m.client_id, m.created_at, m.updated_at, m.edited_at, m.deleted_at, p.pinned_by, p.pinned_at,
  jsonb_build_object('id', author.id, 'name', author.display_name, 'image', author.image) as "user",
  coalesce((
    select jsonb_agg(jsonb_build_object('type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users) order by kind.first, kind.emoji)
    from (
      select r.emoji, count(*), coalesce(bool_or(r.user_id = $1), false) as own, min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by place) filter (where place <= 10) as users
      from (
        select app_id, user_id, emoji, created_at, row_number() over (partition by emoji order by created_at, user_id) as place
        from reactions where message_id = m.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ), '[]') as reactions
from messages m
join users author on author.app_id = m.app_id and author.id = m.user_id
left join pins p on p.message_id = m.id
  join unnest($2::uuid[], $3::int[]) with ordinality as s (channel_id, since, place)
    on s.channel_id = m.channel_id and m.rev > s.since
  order by s.place, m.rev limit $4
--> statement-breakpoint
select * from (
  select w.id, w.name, w.type, w.image, m.role, w.created_at, w.updated_at,
    row_number() over (order by m.joined_at, w.id) = 1 as is_default,
    (select count(*)::int from workspace_members f where f.workspace_id = w.id) as member_count,
    (select count(*)::int from channels c where c.workspace_id = w.id and c.deleted_at is null) as channel_count
  from workspace_members m join workspaces w on w.id = m.workspace_id
  where m.app_id = $1 and m.user_id = $2
  order by m.joined_at, w.id
) w where true
--> statement-breakpoint
select from workspace_invites i where i.app_id = $1 and i.token_hash = $2 and i.expires_at > now() for update
--> statement-breakpoint
select i.id, i.workspace_id, i.role, i.uses, i.max_uses,
  exists (select from workspace_members m where m.workspace_id = i.workspace_id and m.user_id = $1) as is_member
from workspace_invites i where i.app_id = $2 and i.token_hash = $3 and i.expires_at > now()
--> statement-breakpoint
with joined as (
  insert into workspace_members (app_id, workspace_id, user_id, role) values ($1, $2, $3, $4) on conflict do nothing returning user_id
), used as (
  insert into workspace_invite_uses (invite_id, user_id) select $5, user_id from joined on conflict do nothing returning user_id
)
update workspace_invites set uses = uses + 1 where id = $6 and exists (select from used)
--> statement-breakpoint
select m.user_id, jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as "user", m.role, m.joined_at
from workspace_members m join users u on u.app_id = m.app_id and u.id = m.user_id
where m.workspace_id = $1 order by m.joined_at, m.user_id limit $2 offset $3
--> statement-breakpoint
select from workspaces where app_id = $1 and id = $2 for no key update
--> statement-breakpoint
select role from workspace_members where workspace_id = $1 and user_id = $2
--> statement-breakpoint
select id from workspaces
where id in (select workspace_id from workspace_members where app_id = $1 and user_id = any($2) and workspace_id = $3) order by id for no key update
--> statement-breakpoint
delete from workspace_members where workspace_id = any($1::uuid[]) and user_id = any($2)
--> statement-breakpoint
update workspace_members m set role = 'owner'
where (workspace_id, user_id) in (
  select distinct on (workspace_id) workspace_id, user_id from workspace_members heir
  where workspace_id = any($1::uuid[]) and not exists (select from workspace_members o where o.workspace_id = heir.workspace_id and o.role = 'owner')
  order by workspace_id, role = 'admin' desc, joined_at, user_id
)
--> statement-breakpoint
select c.id, c.cid, coalesce(c.name, peer.display_name, 'Deleted user') as name, c.type, coalesce(c.image, peer.image) as image, c.description,
    c.workspace_id, c.created_by, c.member_count, case when m.user_id is null then 0 else
  case when c.last_seq <= m.unread_after_seq then 0 else greatest(0, c.last_seq - m.unread_after_seq
    - (select count(*) from messages x where x.channel_id = c.id and x.user_id = m.user_id and x.seq > m.unread_after_seq)
    - (select count(*) from messages x where x.channel_id = c.id and x.deleted_at is not null and x.user_id <> m.user_id and x.seq > m.unread_after_seq))::int end end as unread_count,
    coalesce(m.last_read_seq, 0) as last_read_seq, m.role, coalesce(m.starred, false) as starred, coalesce(m.muted, false) as muted,
    c.rev, c.created_at, c.updated_at,
    (select x.id from messages x where x.channel_id = c.id and x.deleted_at is null order by x.seq desc limit 1) as last_message_id,
    case when $1 or c.type = 'messaging' then (
  select coalesce(jsonb_agg(jsonb_build_object('userId', f.user_id, 'user', jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image), 'role', f.role, 'joinedAt', to_char(f.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by f.joined_at, f.user_id), '[]')
  from (select f.* from members f where f.channel_id = c.id order by f.joined_at, f.user_id limit $2) f join users u on u.app_id = f.app_id and u.id = f.user_id
) end as members
  from (
    select c.* from channels c left join members m on m.channel_id = c.id and m.user_id = $3
    where c.app_id = $4 and c.deleted_at is null and (
  c.type in ('public', 'livestream')
  or (c.type = 'team' and exists (select from workspace_members w where w.workspace_id = c.workspace_id and w.user_id = $5))
) and c.type = $6 and true order by c.last_activity_at desc, c.id desc limit $7 offset $8
  ) c
  left join members m on m.channel_id = c.id and m.user_id = $9
  left join lateral (
  select u.display_name, u.image from members p join users u on u.app_id = p.app_id and u.id = p.user_id
  where c.type = 'messaging' and p.channel_id = c.id and p.user_id <> $10 limit 1) peer on true
  order by c.last_activity_at desc, c.id desc
--> statement-breakpoint
insert into devices as d (id, app_id, user_id, platform, provider, token, device_id, app_version)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (id) do update set
  user_id = excluded.user_id, platform = excluded.platform, provider = excluded.provider, token = excluded.token,
  device_id = case when d.user_id = excluded.user_id then coalesce(excluded.device_id, d.device_id) else excluded.device_id end,
  app_version = excluded.app_version, updated_at = clock_timestamp()
returning id, platform, provider, created_at
--> statement-breakpoint
select id, user_id, provider, (user_id = $1 and coalesce(device_id = $2, false)) as is_same_device from devices
where app_id = $3 and (token = $4 or (user_id = $5 and coalesce(device_id = $6, false))) order by id for update
--> statement-breakpoint
delete from devices where id = any($1::uuid[])
--> statement-breakpoint
delete from devices where app_id = $1 and user_id = $2 and (id::text = $3 or device_id = $4) returning user_id, provider
--> statement-breakpoint
insert into api_keys (id, app_id, hash) select $1, id, $2 from apps where id = $3 returning id, created_at
--> statement-breakpoint
select a.id, a.name, a.created_at, coalesce((
  select jsonb_agg(jsonb_build_object('id', k.id, 'createdAt', to_char(k.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by k.id) from api_keys k where k.app_id = a.id
), '[]') as keys
from apps a order by a.id limit $1 offset $2
--> statement-breakpoint
delete from api_keys where id = $1 and app_id = $2 returning hash
