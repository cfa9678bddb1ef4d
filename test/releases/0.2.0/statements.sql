
    
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, created_rev, author_seq,
      text, mentions, attachments, custom,
      type, silent, streaming,
      parent_id, quoted_id, client_id,
      created_at, updated_at
    )
    select
      id, $1::uuid, channel_id, user_id, seq, rev, rev, author_seq,
      text, mentions::text[], attachments::jsonb, custom::jsonb,
      type, silent = 1, streaming = 1,
      parent_id, quoted_id, client_id,
      created_at, created_at
    from unnest(
      $2::uuid[],
      $3::uuid[],
      $4::text[],
      $5::int[],
      $6::int[],
      $7::int[],
      $8::text[],
      $9::text[],
      $10::text[],
      $11::text[],
      $12::text[],
      $13::int[],
      $14::int[],
      $15::uuid[],
      $16::uuid[],
      $17::text[],
      $18::timestamptz[]
    ) as message (
      id, channel_id, user_id, seq, rev, author_seq,
      text, mentions, attachments, custom, type, silent, streaming,
      parent_id, quoted_id, client_id, created_at
    )
--> statement-breakpoint

    
  insert into audit (app_id, actor, key_id, user_id, operation, target, request_id)
  values (
    $1, $2, $3, $4,
    $5, $6, $7
  )
    returning id::text as id
--> statement-breakpoint

            update channels
            set deleted_at = least(deleted_at, now())
            where id = $1
              and app_id is not distinct from $2
--> statement-breakpoint

          delete from workspace_members
          where app_id = $1
            and workspace_id = $2
            and user_id = $3
--> statement-breakpoint

          select
            set_config('idle_in_transaction_session_timeout', '0', true),
            set_config('statement_timeout', '0', true)
--> statement-breakpoint

        delete from apps
        where id = $1
          and deleted_at is not null
--> statement-breakpoint

        delete from connections con
        using unnest($1::uuid[], $2::text[]) as given (app_id, user_id)
        where con.node_id = $3
          and con.app_id = given.app_id
          and con.user_id = given.user_id
--> statement-breakpoint

        delete from service
        where key = $1
          and value::jsonb ->> 'id' = $2
--> statement-breakpoint

        delete from user_streams
        where app_id = $1
          and user_id = any($2)
--> statement-breakpoint

        select c.id
        from channels c
        where (
    c.app_id = any(array[$1::uuid])
    and (c.app_id, c.id) > ($2::uuid, $3::uuid)
    
    
  )
        order by c.app_id, c.id
        limit $4
--> statement-breakpoint

        select given.app_id, given.user_id, u.last_active_at
        from unnest($1::uuid[], $2::text[]) as given (app_id, user_id)
        join users u on u.app_id = given.app_id and u.id = given.user_id
        where not exists (
          select from connections other
          join nodes n on n.id = other.node_id
          where other.app_id = given.app_id and other.user_id = given.user_id
        )
--> statement-breakpoint

        select msg.channel_id, msg.user_id, msg.text
        from messages msg
        where msg.app_id = $1
          and msg.id = $2
--> statement-breakpoint

        select us.user_id
        from user_streams us
        where us.app_id = $1
        limit $2
--> statement-breakpoint

        update api_keys
        set last_used_at = now()
        where id = any(array(
          select ak.id
          from api_keys ak
          where ak.id = any($1::uuid[])
          for no key update skip locked
        ))
--> statement-breakpoint

        update members
        set starred = $1, muted = $2
        where channel_id = $3
          and user_id = $4
--> statement-breakpoint

        update nodes
        set beat_at = now() - $1 * interval '1 millisecond'
        where id = $2
--> statement-breakpoint

        update webhooks
        set leased_until = null
        where app_id in ($1,$2)
--> statement-breakpoint

        with recursive found as (
          (
            select e.topic, 1 as number
            from events e
            where e.topic > $1
            order by e.topic
            limit 1
          )
          union all
          select next.topic, found.number + 1
          from found
          cross join lateral (
            select e.topic
            from events e
            where e.topic > found.topic
            order by e.topic
            limit 1
          ) next
          where found.number < $2
            and starts_with(found.topic, $3)
        )
        select found.topic
        from found
        where starts_with(found.topic, $4)
--> statement-breakpoint

      (
        select 
  wd.id::text as id, (extract(epoch from wd.created_at) * 1000)::bigint::text as made_at,
  wd.topic, wd."offset", wd.event_type,
  wd.status, wd.attempts, wd.next_attempt_at::text as due_at, wd.next_attempt_at <= now() as is_due
        from webhook_deliveries wd
        where wd.webhook_id = $1
          and wd.status = 'pending'
        order by wd.id
        limit $2
      )
      union all
      (
        select 
  wd.id::text as id, (extract(epoch from wd.created_at) * 1000)::bigint::text as made_at,
  wd.topic, wd."offset", wd.event_type,
  wd.status, wd.attempts, wd.next_attempt_at::text as due_at, wd.next_attempt_at <= now() as is_due
        from webhook_deliveries wd
        where wd.webhook_id = $3
          and wd.status = 'retrying'
          and wd.next_attempt_at <= now()
        order by wd.next_attempt_at
        limit $4
      )
--> statement-breakpoint

      create table if not exists "drizzle".__drizzle_migrations (
        id serial primary key,
        hash text not null,
        created_at bigint
      )
--> statement-breakpoint

      delete from active_users
      where ctid = any(array(
        select old.ctid
        from apps a
        cross join lateral (
          select au.ctid
          from active_users au
          where au.app_id = a.id
            and au.day < (now() at time zone 'UTC')::date - $1::int
        ) old
        limit $2
      ))
--> statement-breakpoint

      delete from audit
      where id = any(array(
        select oldest.id
        from (
          select aud.id, aud.created_at
          from audit aud
          order by aud.id
          limit $1
        ) oldest
        where oldest.created_at < now() - $2 * interval '1 day'))
--> statement-breakpoint

      delete from audit
      where id = any(array(
      select aud.id
      from audit aud
      where aud.app_id = $1
        and aud.actor in ('key', 'user')
      limit $2))
--> statement-breakpoint

      delete from channels
      where id = $1
        and deleted_at is not null
        and deleted_at < 'infinity'
--> statement-breakpoint

      insert into api_keys as ak (id, app_id, hash, name, scopes, expires_at)
      select
        $1, $2, $3,
        $4, $5::text[], $6
      where (
        select count(*)
        from api_keys other
        where other.app_id = $7
      ) < $8
      returning ak.id, ak.name, ak.scopes, ak.created_at, ak.last_used_at, ak.expires_at
--> statement-breakpoint

      insert into before_send_hooks as bsh (app_id, url, on_error, timeout_ms, secret)
      values ($1, $2, $3, $4, $5)
      on conflict (app_id) do update set
        url = excluded.url,
        on_error = excluded.on_error,
        timeout_ms = excluded.timeout_ms
      returning bsh.url, bsh.on_error, bsh.timeout_ms, bsh.created_at, bsh.secret
--> statement-breakpoint

      insert into link_previews as lp (app_id, url_hash, preview, expires_at)
      select $1, found.hash, found.preview::jsonb,
        now() + make_interval(secs => found.seconds)
      from unnest($2::text[], $3::text[], $4::int[])
        as found (hash, preview, seconds)
      on conflict (app_id, url_hash) do update
        set preview = excluded.preview, expires_at = excluded.expires_at
--> statement-breakpoint

      insert into service (key, value)
      values (
        $1,
        (
  $2::timestamptz - $3 * interval '1 second')::text
      )
      on conflict (key) do update
      set value = excluded.value
--> statement-breakpoint

      insert into service as s (key, value)
      select $1, $2
      from webhooks wh
      where wh.id = $3
      on conflict (key) do update
      set value = s.value
      returning s.value
--> statement-breakpoint

      insert into staged_jobs (task, payload)
      select task, payload::json
      from unnest($1::text[], $2::text[]) as given (task, payload)
--> statement-breakpoint

      insert into workspace_invites (
        id, app_id, workspace_id,
        token_hash, role, max_uses,
        created_by, expires_at
      )
      values (
        $1, $2, $3,
        $4, $5, $6,
        $7, now() + $8 * interval '1 day'
      )
      returning id, expires_at
--> statement-breakpoint

      select
        (
          select coalesce(extract(epoch from now() - min(line.created_at)), 0)::float
          from webhooks wh
          cross join lateral (
            select wd.created_at
            from webhook_deliveries wd
            where wd.webhook_id = wh.id
              and wd.status = 'pending'
            order by wd.id
            limit 1
          ) line
          where wh.enabled
        ) as oldest_delivery,
        (
          select count(*)::int
          from webhooks wh
          where wh.enabled
            and wh.failing_since is not null
        ) as failing
--> statement-breakpoint

      select
        (
          select count(*)::int
          from (
            select
            from users u
            where u.deleted_at is not null
              and u.forgotten_at is null
            limit $1
          ) deleted
        ) as users,
        (
          select count(*)::int
          from (
            select
            from channels c
            where c.deleted_at is not null
              and c.deleted_at < 'infinity'
            limit $2
          ) deleted
        ) as channels
--> statement-breakpoint

      select
        (
          select extract(epoch from now() - e.created_at)::float
          from events e
          order by e.created_at
          limit 1
        ) as event,
        (
          select extract(epoch from now() - sj.created_at)::float
          from staged_jobs sj
          order by sj.id
          limit 1
        ) as staged
--> statement-breakpoint

      select
        ak.app_id, ak.id as key_id, ak.scopes,
        
  a.disabled_at is not null as is_disabled,
  a.user_admin_access,
  a.rate_limits
      from api_keys ak
      join apps a on a.id = ak.app_id and num_nulls(a.deleted_at) = 1
      where ak.hash = $1
        and (ak.expires_at is null or ak.expires_at > now())
--> statement-breakpoint

      select
        m.user_id, m.profile ->> 'name' as name, m.profile ->> 'image' as image,
        (
  select msg.id
  from messages msg
  where msg.channel_id = m.channel_id
    and msg.seq >= m.last_read_seq
    and msg.seq <= m.last_read_seq
  order by msg.seq
  limit 1
)
          as last_read_message_id,
        m.last_read_seq,
        (extract(epoch from m.joined_at) * 1000000)::bigint as joined_micros,
        m.has_next
      from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $1 + 0) over joined as bytes
    from (
    select m.*
    from members m
    where 
      m.channel_id = $2
      and (m.joined_at, m.user_id) > ((timestamptz 'epoch' + $3::float8 * interval '1 microsecond'), $4)
      and (
  select (
  m.user_id is not null
  or c.type in ('public', 'livestream')
  or (c.type = 'team' and wm.user_id is not null)
)
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $5
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $6
  
  where c.id = $7
    and c.app_id is not distinct from $8
    and num_nulls(c.deleted_at) = 1
)
      order by m.joined_at, m.user_id
      limit $9
      offset $10) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $11 or measured.place = 1) m
      order by m.joined_at, m.user_id
--> statement-breakpoint

      select
        m.user_id, m.profile ->> 'name' as name, m.profile ->> 'image' as image,
        (
  select msg.id
  from messages msg
  where msg.channel_id = m.channel_id
    and msg.seq >= m.last_read_seq
    and msg.seq <= m.last_read_seq
  order by msg.seq
  limit 1
)
          as last_read_message_id,
        m.last_read_seq,
        (extract(epoch from m.joined_at) * 1000000)::bigint as joined_micros,
        m.has_next
      from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $1 + 0) over joined as bytes
    from (
    select m.*
    from members m
    where 
      m.channel_id = $2
      and true
      and (
  select (
  m.user_id is not null
  or c.type in ('public', 'livestream')
  or (c.type = 'team' and wm.user_id is not null)
)
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $3
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $4
  
  where c.id = $5
    and c.app_id is not distinct from $6
    and num_nulls(c.deleted_at) = 1
)
      order by m.joined_at, m.user_id
      limit $7
      offset $8) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $9 or measured.place = 1) m
      order by m.joined_at, m.user_id
--> statement-breakpoint

      select
        m.user_id, m.profile as "user", m.role, m.joined_at,
        (extract(epoch from m.joined_at) * 1000000)::bigint as joined_micros,
        m.has_next
      from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $1 + 0) over joined as bytes
    from (
      select wm.*
      from workspace_members wm
      where wm.workspace_id = $2
        and true
      order by wm.joined_at, wm.user_id
      limit $3
      offset $4) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $5 or measured.place = 1) m
      order by m.joined_at, m.user_id
--> statement-breakpoint

      select
        task, state,
        count(*)::int,
        greatest(extract(epoch from now() - min(due)), 0)::float as oldest
      from (
        (
          select sj.task, 'waiting' as state, sj.created_at as due
          from staged_jobs sj
          order by sj.id
          limit $1
        )
        
      ) jobs
      group by task, state
--> statement-breakpoint

      select
        u.token_generation,
        exists (
          select
          from before_send_hooks bsh
          where bsh.app_id = u.app_id
        ) as is_screened,
        
  a.disabled_at is not null as is_disabled,
  a.user_admin_access,
  a.rate_limits
      from users u
      join apps a on a.id = u.app_id and num_nulls(a.deleted_at) = 1
      where u.app_id = $1 and u.id = $2 and u.deleted_at is null
--> statement-breakpoint

      select
        wh.url,
        array_remove(
          array[
            wh.secret,
            case when wh.previous_secret_expires_at > now() then wh.previous_secret end
          ],
          null
        ) as secrets,
        e.topic, e."offset", e.message_id, e.envelope, e.created_at
      from webhooks wh
      left join events e on e.topic = $1 and e."offset" = $2
      where wh.id = $3
        and wh.leased_by = $4
        and wh.enabled
--> statement-breakpoint

      select
        wi.id, wi.role, wi.uses, wi.max_uses,
        wi.created_by, wi.created_at, wi.expires_at
      from workspace_invites wi
      where wi.workspace_id = $1
        and (
  wi.expires_at > now()
  and (
    select wm.role = 'owner' or (wm.role = 'admin' and wi.role <> 'owner')
    from workspace_members wm
    where wm.workspace_id = wi.workspace_id
      and wm.user_id = wi.created_by
  )
)
      order by wi.id desc
      limit $2
      offset $3
--> statement-breakpoint

      select
        wi.id, wi.workspace_id, wi.role, wi.uses, wi.max_uses,
        exists (
          select from workspace_members wm
          where wm.workspace_id = wi.workspace_id
            and wm.user_id = $1
        ) as is_member
      from workspace_invites wi
      where 
    wi.app_id = $2
    and wi.token_hash = $3
    and (
  wi.expires_at > now()
  and (
    select wm.role = 'owner' or (wm.role = 'admin' and wi.role <> 'owner')
    from workspace_members wm
    where wm.workspace_id = wi.workspace_id
      and wm.user_id = wi.created_by
  )
)
--> statement-breakpoint

      select
      from apps a
      where a.id = $1
        and num_nulls(a.deleted_at) = 1
      for no key update
--> statement-breakpoint

      select
      from pg_try_advisory_lock($1, hashtext(current_schema())) as is_locked
      where is_locked
--> statement-breakpoint

      select
      from service s
      where s.key = 'granted'
        and s.value = $1
--> statement-breakpoint

      select 
  wd.id::text as id, (extract(epoch from wd.created_at) * 1000)::bigint::text as made_at,
  wd.topic, wd."offset", wd.event_type,
  wd.status, wd.attempts, wd.next_attempt_at::text as due_at, wd.next_attempt_at <= now() as is_due
      from webhook_deliveries wd
      where wd.webhook_id = $1
        and wd.status = 'pending'
        and wd.id > $2::bigint
      order by wd.id
      limit $3
--> statement-breakpoint

      select a.id, a.deleted_at > '-infinity' as was_shown
      from apps a
      where a.deleted_at is not null
        and a.deleted_at < 'infinity'
      order by a.deleted_at
      limit 100
--> statement-breakpoint

      select ak.id, ak.name, ak.scopes, ak.created_at, ak.last_used_at, ak.expires_at
      from api_keys ak
      where ak.app_id = $1
      order by ak.id
--> statement-breakpoint

      select app_id, array_agg(id) as user_ids
      from (
        select u.app_id, u.id
        from users u
        where u.deleted_at is not null
          and u.forgotten_at is null
        order by u.deleted_at
        limit $1
      ) deleted
      group by app_id
--> statement-breakpoint

      select app_id, id
      from channels c
      where (id > $1 and id <= $2)
        and (member_count = 0 and deleted_at is null)
        and last_activity_at < now() - $3 * interval '1 day'
        and 
  exists (
    select
    from apps a
    where a.id = app_id
      and num_nulls(a.deleted_at) = 1
  )
      order by id
--> statement-breakpoint

      select app_id, id
      from workspaces w
      where (id > $1 and id <= $2)
        and (
  select true
  from workspace_members wm
  where wm.workspace_id = w.id
  limit 1
) is null
        and updated_at < now() - $3 * interval '1 day'
        and 
  exists (
    select
    from apps a
    where a.id = app_id
      and num_nulls(a.deleted_at) = 1
  )
      order by id
--> statement-breakpoint

      select app_id, user_id
      from connections
      where node_id = $1
      order by app_id, user_id
      limit $2
--> statement-breakpoint

      select bsh.url, bsh.on_error, bsh.timeout_ms, bsh.created_at
      from before_send_hooks bsh
      where bsh.app_id = $1
--> statement-breakpoint

      select c.id as channel_id,
        coalesce(c.name, '') as channel_name,
        coalesce(c.description, '') as channel_description,
        inviter.id as invited_by, inviter.display_name as invited_by_name,
        m.user_id, m.joined_at, pref.chosen
      from channels c
      join users inviter
        on inviter.app_id = c.app_id
        and inviter.id = $1
        and inviter.deleted_at is null
      join members m
        on m.channel_id = c.id
        and m.user_id = any($2)
      join users u on u.app_id = m.app_id and u.id = m.user_id and u.deleted_at is null
      left join preferences pref on pref.app_id = m.app_id and pref.user_id = m.user_id
      where c.app_id = $3
        and c.id = $4
        and c.deleted_at is null
--> statement-breakpoint

      select coalesce(state, 'unknown') as state, count(*)::int
      from pg_stat_activity
      where datname = current_database() and application_name like 'parley%'
      group by 1
--> statement-breakpoint

      select d.token
      from devices d
      where d.app_id = $1
        and d.user_id = $2
        and d.provider = $3
      order by d.created_at, d.id
--> statement-breakpoint

      select exists (
        select from job_workers jw
        where jw.seen_at > clock_timestamp() - make_interval(secs => $1)
          and jw.seen_at < clock_timestamp() + make_interval(secs => $2)
      ) as is_alive
--> statement-breakpoint

      select from workspace_invites wi
      where 
    wi.app_id = $1
    and wi.token_hash = $2
    and (
  wi.expires_at > now()
  and (
    select wm.role = 'owner' or (wm.role = 'admin' and wi.role <> 'owner')
    from workspace_members wm
    where wm.workspace_id = wi.workspace_id
      and wm.user_id = wi.created_by
  )
)
      for update of wi
--> statement-breakpoint

      select greatest(
        $1::timestamptz,
        case
          when $2::timestamptz <= $3::timestamptz
            then $4::timestamptz - $5 * interval '1 millisecond'
          when $6::timestamptz > $7::timestamptz
            then 
  $8::timestamptz - $9 * interval '1 second'
        end
      )::text as at
--> statement-breakpoint

      select id
      from nodes
      where id = $1 and beat_at < now() - $2 * interval '1 millisecond'
      for update skip locked
--> statement-breakpoint

      select id, name, created_at, updated_at
      from workspaces w
      where (
    w.app_id = any(array[$1::uuid])
    and (w.app_id, w.id) > ($2::uuid, $3::uuid)
    
    and (w.app_id, w.id) <= ($4::uuid, $5::uuid)
  )
        and (
  select true
  from workspace_members wm
  where wm.workspace_id = w.id
  limit 1
) is null
      order by app_id, id
      limit $6
--> statement-breakpoint

      select id, type, name, workspace_id, created_at, last_activity_at
      from channels c
      where (
    c.app_id = any(array[$1::uuid])
    and (c.app_id, c.id) > ($2::uuid, $3::uuid)
    
    and (c.app_id, c.id) <= ($4::uuid, $5::uuid)
  )
        and (member_count = 0 and deleted_at is null)
      order by app_id, id
      limit $6
--> statement-breakpoint

      select lp.url_hash, lp.preview
      from link_previews lp
      where lp.app_id = $1
        and lp.url_hash = any($2)
        and lp.expires_at > now()
--> statement-breakpoint

      select msg.app_id, msg.id as message_id, msg.channel_id, msg.text,
        r.emoji, reactor.id as reactor_id, reactor.display_name as reactor_name,
        msg.user_id, pref.chosen
      from unnest(
        $1::uuid[], $2::uuid[], $3::text[], $4::text[]
      ) as given (app_id, message_id, user_id, emoji)
      join messages msg
        on msg.app_id = given.app_id
        and msg.id = given.message_id
        and msg.deleted_at is null
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
      left join preferences pref on pref.app_id = msg.app_id and pref.user_id = msg.user_id
--> statement-breakpoint

      select msg.app_id, msg.id as message_id, msg.parent_id as thread_id, msg.text,
        msg.channel_id, coalesce(c.name, 
  case when msg.type = 'system' then $1 else author.display_name end) as channel_name,
        author.id as sender_id, 
  case when msg.type = 'system' then $2 else author.display_name end as sender_name,
        coalesce(author.image, '') as sender_avatar,
        page.recipients, page.last_id
      from unnest(
        $3::uuid[], $4::uuid[], $5::text[], $6::text[]
      ) as given (app_id, message_id, after, only_users)
      join messages msg
        on msg.app_id = given.app_id
        and msg.id = given.message_id
        and msg.deleted_at is null
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
          select other.user_id
          from messages other
          where other.parent_id = msg.parent_id
            and other.deleted_at is null
        ) written
      ) thread on msg.parent_id is not null
      cross join lateral (
        select
          case
            when given.only_users is null and count(*) = $7::int
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
            limit $8
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
      ) page
--> statement-breakpoint

      select pg_try_advisory_lock($1, hashtext(current_schema())) as is_ours
--> statement-breakpoint

      select role
      from workspace_members
      where workspace_id = $1
        and user_id = $2
--> statement-breakpoint

      select sample.user_id
      from (
        (
          select d.user_id
          from devices d
          order by d.id
          limit $1
        )
        union all
        (
          select d.user_id
          from devices d
          order by d.id desc
          limit $2
        )
      ) sample
      where sample.user_id !~ '^[A-Za-z0-9_.-]+$'
        and sample.user_id !~ '^[^@\s]+@[^@\s]+[.][^@\s]+$'
      limit 1
--> statement-breakpoint

      select u.id, u.display_name as name, u.email, u.image
      from users u
      where u.app_id = $1
        and u.id = $2
        and u.deleted_at is null
--> statement-breakpoint

      select wh.replay_since::text as since
      from webhooks wh
      where wh.id = $1
--> statement-breakpoint

      update api_keys ak
      set
        name = case when $1 then $2 else ak.name end,
        scopes = coalesce($3::text[], ak.scopes),
        expires_at = case
          when $4 then $5::timestamptz
          else ak.expires_at
        end
      where ak.id = $6
        and ak.app_id = $7
      returning ak.id, ak.name, ak.scopes, ak.created_at, ak.last_used_at, ak.expires_at, ak.hash
--> statement-breakpoint

      update events e
      set envelope = given.envelope, type = given.envelope::json ->> 'type'
      from unnest($1::int[], $2::text[])
        as given ("offset", envelope)
      where e.topic = $3
        and e."offset" = any($4::int[])
        and e."offset" = given."offset"
--> statement-breakpoint

      update job_workers
      set seen_at = clock_timestamp()
      where seen_at > clock_timestamp() + make_interval(secs => $1)
--> statement-breakpoint

      update messages
      set client_id = null
      where id = any($1::uuid[])
--> statement-breakpoint

      update service s
      set value = 
  jsonb_build_object(
    'id', $1::text,
    'until', clock_timestamp() + $2 * interval '1 millisecond'
  )::text
      where s.key = $3
        and s.value::jsonb ->> 'id' = $4
      returning s.key
--> statement-breakpoint

      update service s
      set value = (s.value::jsonb || $1::text::jsonb)::text
      where s.key = $2
--> statement-breakpoint

      update users
      set token_generation = token_generation + 1
      where app_id = $1
        and id = $2
        and deleted_at is null
--> statement-breakpoint

      update webhook_deliveries wd
      set
        status = $1,
        attempts = wd.attempts + 1,
        response_status = $2,
        error = $3,
        next_attempt_at = now() + $4 * interval '1 millisecond'
      where wd.id = $5::bigint
        and wd.next_attempt_at is not distinct from $6::timestamptz
        and exists (
          select
          from webhooks wh
          where wh.id = wd.webhook_id
            and wh.leased_by = $7
        )
--> statement-breakpoint

      update webhooks
      set
        leased_by = null,
        leased_until = clock_timestamp() + $1 * interval '1 millisecond'
      where id = $2
        and leased_by = $3
--> statement-breakpoint

      update webhooks
      set active_since = now()
      where active_since > now()
--> statement-breakpoint

      update webhooks
      set failing_since = null
      where id = $1
        and failing_since is not null
--> statement-breakpoint

      update webhooks wh
      set
        secret = $1,
        previous_secret = wh.secret,
        previous_secret_expires_at =
          now() + $2 * interval '1 hour'
      where wh.id = $3
        and wh.app_id = $4
      returning 
  wh.id, wh.url, wh.events, wh.description,
  wh.enabled, wh.disabled_reason, wh.failing_since, wh.created_at
--> statement-breakpoint

      update webhooks wh
      set
        url = coalesce($1, wh.url),
        events = coalesce($2::text[], wh.events),
        description = case
          when $3 then $4
          else wh.description
        end,
        enabled = coalesce($5::boolean, wh.enabled),
        disabled_reason = case when $6 then wh.disabled_reason end,
        active_since = case when ($7 and not wh.enabled) then now() else wh.active_since end,
        failing_since = case
          when ($8 and not wh.enabled) or ($9::text is distinct from wh.url and $10) then null
          else wh.failing_since
        end
      where wh.id = $11
        and wh.app_id = $12
      returning 
  wh.id, wh.url, wh.events, wh.description,
  wh.enabled, wh.disabled_reason, wh.failing_since, wh.created_at
--> statement-breakpoint

      update workspace_invite_uses wiu
      set app_id = wi.app_id
      from workspace_invites wi
      where wi.id = wiu.invite_id
        and wiu.ctid = any(array(
          select unnamed.ctid
          from workspace_invite_uses unnamed
          where unnamed.app_id is null
          limit $1
        ))
--> statement-breakpoint

      with beat as (
        insert into job_workers (id, seen_at)
        select *, clock_timestamp()
        from unnest($1::text[])
        on conflict (id) do update set seen_at = excluded.seen_at
      )
      select (extract(epoch from clock_timestamp()) * 1000)::float as at
--> statement-breakpoint

      with counted as (
        update channels c
        set
          rev = given.rev,
          last_seq = given.last_seq,
          last_activity_at = greatest(given.created_at, c.last_activity_at),
          active_hour = case
            when c.type in ('public', 'livestream') then date_trunc('hour', greatest(given.created_at, c.last_activity_at), 'UTC')
            else c.active_hour
          end
        from unnest(
          $1::uuid[], $2::int[], $3::int[], $4::timestamptz[]
        ) as given (id, rev, last_seq, created_at)
        where c.id = given.id
      )
      insert into events (topic, "offset", type, envelope, message_id)
      select *
      from unnest(
        $5::text[], $6::int[],
        $7::text[], string_to_array($8, chr(10)), $9::uuid[]
      )
--> statement-breakpoint

      with counted as (
        update channels c
        set
          rev = given.rev,
          last_seq = given.last_seq,
          last_activity_at = greatest(given.created_at, c.last_activity_at),
          active_hour = case
            when c.type in ('public', 'livestream') then date_trunc('hour', greatest(given.created_at, c.last_activity_at), 'UTC')
            else c.active_hour
          end
        from unnest(
          $1::uuid[], $2::int[], $3::int[], $4::timestamptz[]
        ) as given (id, rev, last_seq, created_at)
        where c.id = given.id
      ), staged as (
      insert into staged_jobs (task, payload)
      select task, payload::json
      from unnest($5::text[], $6::text[]) as given (task, payload))
      insert into events (topic, "offset", type, envelope, message_id)
      select *
      from unnest(
        $7::text[], $8::int[],
        $9::text[], string_to_array($10, chr(10)), $11::uuid[]
      )
--> statement-breakpoint

      with due as materialized (
        select
          wh.id, wh.leased_until,
          row_number() over (
            partition by wh.app_id
            order by wh.leased_until nulls first
          ) + cardinality(array_positions($1::uuid[], wh.app_id)) as place
        from webhooks wh
        where wh.enabled
          and (
  wh.leased_until is null
  or wh.leased_until <= clock_timestamp()
  or wh.leased_until > clock_timestamp()
    + case when wh.leased_by is null then $2::int else $3::int end
    * interval '1 millisecond'
)
          and wh.failing_since is not null
          and (
            wh.replay_since is not null
            or exists (
  select
  from (
    select wd.next_attempt_at
    from webhook_deliveries wd
    where wd.webhook_id = wh.id
      and wd.status = 'pending'
    order by wd.next_attempt_at
    limit 1
  ) next
  where next.next_attempt_at <= now())
            or exists (
  select
  from (
    select wd.next_attempt_at
    from webhook_deliveries wd
    where wd.webhook_id = wh.id
      and wd.status = 'retrying'
    order by wd.next_attempt_at
    limit 1
  ) next
  where next.next_attempt_at <= now())
          )
      ),
      next as materialized (
        select wh.id
        from due
        join webhooks wh on wh.id = due.id
        where due.place <= $4
          and wh.enabled
          and (
  wh.leased_until is null
  or wh.leased_until <= clock_timestamp()
  or wh.leased_until > clock_timestamp()
    + case when wh.leased_by is null then $5::int else $6::int end
    * interval '1 millisecond'
)
        order by due.place, due.leased_until nulls first
        limit $7
        for update of wh skip locked
      )
      update webhooks wh
      set
        leased_by = gen_random_uuid(),
        leased_until = clock_timestamp() + $8 * interval '1 millisecond'
      from next
      where wh.id = next.id
      returning
        wh.id, wh.app_id, wh.leased_by,
        wh.failing_since, wh.replay_since::text as replay_since
--> statement-breakpoint

      with due as materialized (
        select
          wh.id, wh.leased_until,
          row_number() over (
            partition by wh.app_id
            order by wh.leased_until nulls first
          ) + cardinality(array_positions($1::uuid[], wh.app_id)) as place
        from webhooks wh
        where wh.enabled
          and (
  wh.leased_until is null
  or wh.leased_until <= clock_timestamp()
  or wh.leased_until > clock_timestamp()
    + case when wh.leased_by is null then $2::int else $3::int end
    * interval '1 millisecond'
)
          and wh.failing_since is null
          and (
            wh.replay_since is not null
            or exists (
  select
  from (
    select wd.next_attempt_at
    from webhook_deliveries wd
    where wd.webhook_id = wh.id
      and wd.status = 'pending'
    order by wd.next_attempt_at
    limit 1
  ) next
  where next.next_attempt_at <= now())
            or exists (
  select
  from (
    select wd.next_attempt_at
    from webhook_deliveries wd
    where wd.webhook_id = wh.id
      and wd.status = 'retrying'
    order by wd.next_attempt_at
    limit 1
  ) next
  where next.next_attempt_at <= now())
          )
      ),
      next as materialized (
        select wh.id
        from due
        join webhooks wh on wh.id = due.id
        where due.place <= $4
          and wh.enabled
          and (
  wh.leased_until is null
  or wh.leased_until <= clock_timestamp()
  or wh.leased_until > clock_timestamp()
    + case when wh.leased_by is null then $5::int else $6::int end
    * interval '1 millisecond'
)
        order by due.place, due.leased_until nulls first
        limit $7
        for update of wh skip locked
      )
      update webhooks wh
      set
        leased_by = gen_random_uuid(),
        leased_until = clock_timestamp() + $8 * interval '1 millisecond'
      from next
      where wh.id = next.id
      returning
        wh.id, wh.app_id, wh.leased_by,
        wh.failing_since, wh.replay_since::text as replay_since
--> statement-breakpoint

      with emitted as (
        select
          user_id, type, envelope,
          row_number() over (partition by user_id order by index) as number,
          count(*) over (partition by user_id) as total
        from unnest($1::text[], $2::text[], string_to_array($3, chr(10)))
          with ordinality as given (user_id, type, envelope, index)
      ), streams as (
        insert into user_streams as us (app_id, user_id, last_offset)
        select $4, user_id, max(total)
        from emitted
        group by user_id
        order by user_id
        on conflict (app_id, user_id) do update
        set last_offset = us.last_offset + excluded.last_offset
        returning user_id, last_offset
      )
      insert into events (topic, "offset", type, envelope)
      select
        $5 || user_id,
        last_offset - total + number,
        type, envelope
      from emitted
      join streams using (user_id)
      returning topic, "offset"
--> statement-breakpoint

      with ended as materialized (
        select wh.id
        from webhooks wh
        where wh.id = $1
          and wh.enabled
          and wh.replay_since = $2::timestamptz
        for no key update
      ),
      forgotten as (
        delete from service s
        where s.key = $3
          and exists (
            select
            from ended
          )
        returning (s.value::jsonb ->> 'again')::timestamptz as again
      )
      update webhooks wh
      set replay_since = forgotten.again
      from forgotten
      where wh.id = $4
--> statement-breakpoint

      with expired as materialized (
        select e.ctid, e.created_at
        from events e
        where e.created_at >= $1
          and e.created_at < now() - $2 * interval '1 hour'
        order by e.created_at
        limit $3
      ),
      deleted as (
        delete from events
        where ctid = any(array(select ctid from expired))
      )
      select count(*)::int as count, max(created_at)::text as until
      from expired
--> statement-breakpoint

      with expired as materialized (
        select lp.ctid, lp.expires_at
        from link_previews lp
        where lp.expires_at >= $1
          and lp.expires_at < now()
        order by lp.expires_at
        limit $2
        for update skip locked
      ),
      deleted as (
        delete from link_previews
        where ctid = any(array(select ctid from expired))
      )
      select count(*)::int as count, max(expires_at)::text as until
      from expired
--> statement-breakpoint

      with expired as materialized (
        select wd.ctid, wd.created_at
        from webhook_deliveries wd
        where wd.created_at >= $1
          and wd.created_at < now() - $2 * interval '1 hour'
        order by wd.created_at
        limit $3
        for update skip locked
      ),
      deleted as (
        delete from webhook_deliveries
        where ctid = any(array(select ctid from expired))
      )
      select count(*)::int as count, max(created_at)::text as until
      from expired
--> statement-breakpoint

      with expired as materialized (
        select wi.ctid, wi.expires_at
        from workspace_invites wi
        where wi.expires_at >= $1
          and wi.expires_at < now()
          and not exists (
            select
            from app_imports ai
            where ai.app_id = wi.app_id
          )
        order by wi.expires_at
        limit $2
      ),
      deleted as (
        delete from workspace_invites
        where ctid = any(array(select ctid from expired))
      )
      select count(*)::int as count, max(expires_at)::text as until
      from expired
--> statement-breakpoint

      with found as materialized (
        select ctid as place, *
        from members
        where channel_id = $1
          and user_id > $2
        order by user_id
        limit $3
      ),
      former as (
        insert into former_members (app_id, channel_id, user_id)
        select app_id, channel_id, user_id
        from found
        on conflict do nothing
      ),
      deleted as (
        delete from members
        where ctid = any(array(select place from found))
      )
      select user_id as last, (select count(*)::int from found) as count
      from found
      order by user_id desc
      limit 1
--> statement-breakpoint

      with given as (
        select *
        from unnest(
          $1::uuid[], $2::text[],
          $3::text[]::boolean[], $4::text[]::boolean[]
        ) as given (app_id, user_id, is_online, is_uncertain)
      ), added as (
        insert into connections (node_id, app_id, user_id)
        select $5, app_id, user_id
        from given
        where is_online
        on conflict do nothing
        returning app_id, user_id
      ), removed as (
        delete from connections con
        using given
        where not given.is_online
          and con.node_id = $6
          and con.app_id = given.app_id
          and con.user_id = given.user_id
        returning con.app_id, con.user_id
      ), changed as (
        select * from added
        union
        select * from removed
        union
        select app_id, user_id from given where is_uncertain
      )
      select given.app_id, given.user_id, given.is_online, u.last_active_at
      from given
      join changed using (app_id, user_id)
      join users u on u.app_id = given.app_id and u.id = given.user_id
      where not exists (
        select from connections other
        join nodes n on n.id = other.node_id
        where other.app_id = given.app_id
          and other.user_id = given.user_id
          and other.node_id <> $7
          and n.beat_at > now() - $8 * interval '1 second'
      )
--> statement-breakpoint

      with page as materialized (
        select e.*
        from unnest(
          $1::text[],
          $2::int[]
        ) as given (topic, "offset")
        cross join lateral (
          select e.topic, e."offset", e.type, e.created_at
          from events e
          where e.topic = given.topic
            and e."offset" > given."offset"
          order by e."offset"
          limit $3
        ) e
      ),
      replayed as (
        insert into webhook_deliveries as wd (
          app_id, webhook_id,
          topic, "offset", event_type
        )
        select wh.app_id, wh.id, page.topic, page."offset", page.type
        from page
        join webhooks wh on wh.id = $4
        where wh.app_id = split_part(page.topic, ':', 2)::uuid
          and page.created_at >= $5::timestamptz
          and 
  wh.events && array['*', split_part(page.type, '.', 1) || '.*', page.type]
        order by page.topic, page."offset"
        on conflict (webhook_id, topic, "offset") do update
        set
          status = 'pending',
          attempts = 0,
          next_attempt_at = now(),
          error = null
        where wd.status <> 'pending'
      )
      select page.topic, max(page."offset") as "offset", count(*)::int as count
      from page
      group by page.topic
      order by page.topic
--> statement-breakpoint

      with verdict as (
        select
          wh.id,
          case
            when $1 then 'gone'
            when $2
              and wh.failing_since < now() - $3 * interval '1 day'
              then 'failing'
          end as reason
        from webhooks wh
        where wh.id = $4
          and wh.enabled
        for no key update
      )
      update webhooks wh
      set
        failing_since = coalesce(wh.failing_since, now()),
        enabled = verdict.reason is null,
        disabled_reason = verdict.reason
      from verdict
      where wh.id = verdict.id
      returning wh.enabled, wh.disabled_reason
--> statement-breakpoint

      with wanted as materialized (
        select
          min(wh.active_since)::text as since,
          bool_or(wh.active_since > now()) as is_ahead
        from webhooks wh
        where wh.enabled
      ),
      turn as (
        insert into service as s (key, value)
        select $1, 
  jsonb_build_object(
    'id', $2::text,
    'until', clock_timestamp() + $3 * interval '1 millisecond'
  )::text
        from wanted
        where wanted.since is not null
          and not exists (
            select
            from service s
            where s.key = $4
              and (
  s.value::jsonb ->> 'id' <> $5
  and (s.value::jsonb ->> 'until')::timestamptz between clock_timestamp()
    and clock_timestamp() + $6 * interval '1 millisecond'
)
          )
        on conflict (key) do update
        set value = excluded.value
        where not (
  s.value::jsonb ->> 'id' <> $7
  and (s.value::jsonb ->> 'until')::timestamptz between clock_timestamp()
    and clock_timestamp() + $8 * interval '1 millisecond'
)
        returning s.key
      )
      select
        now()::text as started_at,
        wanted.since, wanted.is_ahead,
        exists (
          select
          from turn
        ) as is_turn,
        (
          select s.value
          from service s
          where s.key = $9
        ) as until
      from wanted
--> statement-breakpoint

    create policy "parley_role_4857_0"
    on "graphile_worker"."_private_job_queues"
    to "role_4857_0"
    using (true)
    with check (true)
--> statement-breakpoint

    create policy "parley_role_4857_0"
    on "graphile_worker"."_private_jobs"
    to "role_4857_0"
    using (true)
    with check (true)
--> statement-breakpoint

    create policy "parley_role_4857_0"
    on "graphile_worker"."_private_known_crontabs"
    to "role_4857_0"
    using (true)
    with check (true)
--> statement-breakpoint

    create policy "parley_role_4857_0"
    on "graphile_worker"."_private_tasks"
    to "role_4857_0"
    using (true)
    with check (true)
--> statement-breakpoint

    create policy "parley_role_4857_1"
    on "graphile_worker"."_private_job_queues"
    to "role_4857_1"
    using (true)
    with check (true)
--> statement-breakpoint

    create policy "parley_role_4857_1"
    on "graphile_worker"."_private_jobs"
    to "role_4857_1"
    using (true)
    with check (true)
--> statement-breakpoint

    create policy "parley_role_4857_1"
    on "graphile_worker"."_private_known_crontabs"
    to "role_4857_1"
    using (true)
    with check (true)
--> statement-breakpoint

    create policy "parley_role_4857_1"
    on "graphile_worker"."_private_tasks"
    to "role_4857_1"
    using (true)
    with check (true)
--> statement-breakpoint

    delete from api_keys
    where id = $1
      and app_id = $2
    returning hash
--> statement-breakpoint

    delete from app_imports
    where app_id = $1
      and export_id = $2
      and batches = $3
      and checksum = $4
--> statement-breakpoint

    delete from before_send_hooks
    where app_id = $1
    returning app_id
--> statement-breakpoint

    delete from devices
    where app_id = $1
      and user_id = $2
      and (id::text = $3 or device_id = $4)
    returning user_id, provider
--> statement-breakpoint

    delete from events
    where (topic, "offset") in (
      select e.topic, e."offset"
      from unnest($1::text[], $2::text[]) as given (user_id, topic)
      
  join users u
    on u.app_id = $3
    and u.id = given.user_id
    and u.deleted_at is not null
    and u.forgotten_at is null
      join events e on e.topic = given.topic
      limit $4
    )
--> statement-breakpoint

    delete from events
    where topic = any($1)
--> statement-breakpoint

    delete from pins
    where message_id = $1
--> statement-breakpoint

    delete from reactions
    where message_id = $1
      and emoji = $2
      and user_id = $3
--> statement-breakpoint

    delete from service
    where key in (
      select $1 || wh.id
      from webhooks wh
      where wh.app_id = $2
    )
--> statement-breakpoint

    delete from workspace_members wm
    using 
    unnest($1::uuid[], $2::text[]) as given (workspace_id, user_id)
    where wm.workspace_id = given.workspace_id
      and wm.user_id = given.user_id
    returning wm.workspace_id, wm.role
--> statement-breakpoint

    insert into "drizzle".__drizzle_migrations (hash, created_at)
    values ($1, $2)
--> statement-breakpoint

    insert into channels (
      id, app_id, cid, type,
      name, image, description,
      created_by, dm_key, frozen, custom,
      last_activity_at, created_at, deleted_at
    )
    select
      id, $1, cid, type,
      name, image, description,
      "createdBy", "dmKey", frozen, custom,
      "createdAt", "createdAt", 'infinity'
    from jsonb_to_recordset($2) as given (
      id uuid, cid text, type text,
      name text, image text, description text,
      "createdBy" text, "dmKey" text, frozen boolean, custom jsonb,
      "createdAt" timestamptz
    )
--> statement-breakpoint

    insert into channels (
      id, app_id, cid, type,
      name, image, description,
      workspace_id, created_by, client_id, dm_key,
      custom
    )
    values (
      $1, $2, $3, $4,
      $5, $6, $7,
      $8, $9, $10, $11,
      $12
    )
    on conflict do nothing
    returning *
--> statement-breakpoint

    insert into devices as d (
      id, app_id, user_id,
      platform, provider, token,
      device_id, app_version
    )
    values (
      $1, $2, $3,
      $4, $5, $6,
      $7, $8
    )
    on conflict (app_id, token) do update set
      user_id = excluded.user_id,
      platform = excluded.platform,
      provider = excluded.provider,
      token = excluded.token,
      device_id = case
        when d.user_id = excluded.user_id then coalesce(excluded.device_id, d.device_id)
        else excluded.device_id
      end,
      app_version = excluded.app_version,
      updated_at = clock_timestamp()
    returning id, platform, provider, created_at
--> statement-breakpoint

    insert into imported_rows (app_id, record, key, channel_id, line, "row", created_at)
    select $1, record, key, "channelId", line, "row", "createdAt"
    from jsonb_to_recordset($2) as given (
      record text, key text, "channelId" uuid, line int, "row" jsonb, "createdAt" timestamptz
    )
    order by line
    on conflict do nothing
    returning line
--> statement-breakpoint

    insert into imports as i (app_id, run_id, leased_until)
    values ($1, $2, clock_timestamp() + $3 * interval '1 second')
    on conflict (app_id) do update
    set run_id = excluded.run_id, leased_until = excluded.leased_until
    where i.leased_until < clock_timestamp()
    returning i.run_id
--> statement-breakpoint

    insert into members (app_id, channel_id, user_id, role, unread_after_seq, custom, joined_at)
    select $1, "channelId", "userId", role, $2, custom, "joinedAt"
    from jsonb_to_recordset($3) as given (
      "channelId" uuid, "userId" text, role text, custom jsonb, "joinedAt" timestamptz
    )
    on conflict do nothing
--> statement-breakpoint

    insert into nodes (id, beat_at)
    values ($1, now())
    on conflict (id) do update
    set beat_at = now()
    returning
      (extract(epoch from beat_at) * 1000)::float as at,
      exists (
        select from connections con
        where con.node_id = $2
      ) as has_users
--> statement-breakpoint

    insert into service (key, value)
    values ('granted', $1)
    on conflict (key) do update
    set value = excluded.value
--> statement-breakpoint

    insert into tombstone_counts as tc (app_id, channel_id, user_id, part, count)
    select given.app_id, given.channel_id, author.id, given.seq / $1::int, count(*)
    from unnest($2::uuid[], $3::uuid[], $4::text[], $5::int[])
      as given (app_id, channel_id, user_id, seq)
    cross join lateral (values (given.user_id), ($6)) as author (id)
    group by 1, 2, 3, 4
    on conflict (channel_id, user_id, part) do update
    set count = tc.count + excluded.count
--> statement-breakpoint

    insert into users (app_id, id, name, email, image, custom, created_at, updated_at)
    select
      $1, id, name, email, image, coalesce(custom, '{}'),
      coalesce("createdAt", now()), coalesce("createdAt", now())
    from jsonb_to_recordset($2) as given (
      id text, name text, email text, image text, custom jsonb, "createdAt" timestamptz
    )
    order by id
    on conflict do nothing
    returning id
--> statement-breakpoint

    insert into webhook_deliveries as wd (app_id, webhook_id, event_type)
    select wh.app_id, wh.id, 'webhook.test'
    from webhooks wh
    where wh.id = $1
      and wh.app_id = $2
    returning 
  wd.id::text as id, wd.event_type,
  wd.status, wd.attempts, wd.response_status, wd.error,
  case when wd.status in ('pending', 'retrying') then wd.next_attempt_at end as next_attempt_at,
  wd.created_at
--> statement-breakpoint

    insert into webhooks as wh (id, app_id, url, events, description, secret)
    select
      $1, $2,
      $3, $4::text[], $5,
      $6
    where (
      select count(*)
      from webhooks other
      where other.app_id = $7
    ) < $8
    returning 
  wh.id, wh.url, wh.events, wh.description,
  wh.enabled, wh.disabled_reason, wh.failing_since, wh.created_at
--> statement-breakpoint

    insert into workspace_members (app_id, workspace_id, user_id, role)
    values ($1, $2, $3, 'owner')
--> statement-breakpoint

    insert into workspaces (id, app_id, name, type, image, created_by)
    values ($1, $2, $3, $4, $5, $6)
--> statement-breakpoint

    select
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  msg.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $1 then $2::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $3),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      msg.place, msg.has_next, null
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as place,
        lead(true) over page as has_next,
        sum(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0) + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (
      select msg.*
      from messages msg
      where 
      msg.channel_id = $4
        and msg.user_id collate "C" = $5
        and msg.seq < $6::bigint
        and msg.seq < $7::int
        and msg.seq >= $8
        and msg.text ilike $9
      order by msg.seq desc
      limit $10) msg
      cross join lateral (
        select 
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $11), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $12) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by msg.seq desc)
    ) msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.bytes <= $13 or msg.place = 1
    order by msg.seq desc, msg.seq
--> statement-breakpoint

    select
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  msg.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $1 then $2::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $3),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      msg.place, msg.has_next, null
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as place,
        lead(true) over page as has_next,
        sum(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0) + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (
      select msg.*
      from messages msg
      where 
      msg.channel_id = $4
        and msg.user_id collate "C" = $5
        and true
        and msg.seq < $6::int
        and msg.seq >= $7
        and msg.text ilike $8
      order by msg.seq desc
      limit $9) msg
      cross join lateral (
        select 
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $10), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $11) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by msg.seq desc)
    ) msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.bytes <= $12 or msg.place = 1
    order by msg.seq desc, msg.seq
--> statement-breakpoint

    select
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  msg.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $1 then $2::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $3),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      msg.place, msg.has_next, null
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as place,
        lead(true) over page as has_next,
        sum(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0) + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (
      select msg.*
      from messages msg
      where 
      msg.channel_id = $4
        and msg.user_id collate "C" = $5
        and true
        and msg.seq < $6::int
        and true
        and true
      order by msg.seq desc
      limit $7) msg
      cross join lateral (
        select 
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $8), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $9) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by msg.seq desc)
    ) msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.bytes <= $10 or msg.place = 1
    order by msg.seq desc, msg.seq
--> statement-breakpoint

    select
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  msg.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $1 then $2::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $3),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      msg.place, msg.has_next, null
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as place,
        lead(true) over page as has_next,
        sum(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0) + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (
      select msg.*
      from messages msg
      where 
      msg.channel_id = $4
        and msg.user_id collate "C" = $5
        and true
        and true
        and true
        and true
      order by msg.seq desc
      limit $6) msg
      cross join lateral (
        select 
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $7), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $8) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by msg.seq desc)
    ) msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.bytes <= $9 or msg.place = 1
    order by msg.seq desc, msg.seq
--> statement-breakpoint

    select
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  msg.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $1 then $2::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $3),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      msg.place, msg.has_next, null
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as place,
        lead(true) over page as has_next,
        sum(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0) + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (
      select msg.*
      from messages msg
      where 
      msg.channel_id = $4
        and true
        and msg.seq < $5::bigint
        and msg.seq < $6::int
        and true
        and true
      order by msg.seq desc
      limit $7) msg
      cross join lateral (
        select 
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $8), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $9) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by msg.seq desc)
    ) msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.bytes <= $10 or msg.place = 1
    order by msg.seq desc, msg.seq
--> statement-breakpoint

    select
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  msg.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $1 then $2::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $3),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      msg.place, msg.has_next, null
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as place,
        lead(true) over page as has_next,
        sum(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0) + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (
      select msg.*
      from messages msg
      where 
      msg.channel_id = $4
        and true
        and msg.seq < $5::bigint
        and true
        and msg.seq >= $6
        and msg.text ilike $7
      order by msg.seq desc
      limit $8) msg
      cross join lateral (
        select 
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $9), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $10) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by msg.seq desc)
    ) msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.bytes <= $11 or msg.place = 1
    order by msg.seq desc, msg.seq
--> statement-breakpoint

    select
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  msg.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $1 then $2::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $3),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      msg.place, msg.has_next, null
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as place,
        lead(true) over page as has_next,
        sum(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0) + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (
      select msg.*
      from messages msg
      where 
      msg.channel_id = $4
        and true
        and msg.seq < $5::bigint
        and true
        and true
        and true
      order by msg.seq desc
      limit $6) msg
      cross join lateral (
        select 
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $7), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $8) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by msg.seq desc)
    ) msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.bytes <= $9 or msg.place = 1
    order by msg.seq desc, msg.seq
--> statement-breakpoint

    select
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  msg.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $1 then $2::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $3),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      msg.place, msg.has_next, null
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as place,
        lead(true) over page as has_next,
        sum(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0) + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (
      select msg.*
      from messages msg
      where 
      msg.channel_id = $4
        and true
        and true
        and msg.seq < $5::int
        and true
        and true
      order by msg.seq desc
      limit $6) msg
      cross join lateral (
        select 
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $7), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $8) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by msg.seq desc)
    ) msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.bytes <= $9 or msg.place = 1
    order by msg.seq desc, msg.seq
--> statement-breakpoint

    select
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  msg.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $1 then $2::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $3),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      msg.place, msg.has_next, null
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as place,
        lead(true) over page as has_next,
        sum(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0) + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (
      select msg.*
      from messages msg
      where 
      msg.channel_id = $4
        and true
        and true
        and true
        and msg.seq >= $5
        and msg.text ilike $6
      order by msg.seq desc
      limit $7) msg
      cross join lateral (
        select 
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $8), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $9) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by msg.seq desc)
    ) msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.bytes <= $10 or msg.place = 1
    order by msg.seq desc, msg.seq
--> statement-breakpoint

    select
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  msg.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $1 then $2::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $3),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      msg.place, msg.has_next, null
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as place,
        lead(true) over page as has_next,
        sum(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0) + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (
      select msg.*
      from messages msg
      where 
      msg.channel_id = $4
        and true
        and true
        and true
        and true
        and true
      order by msg.seq desc
      limit $5) msg
      cross join lateral (
        select 
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $6), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $7) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by msg.seq desc)
    ) msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.bytes <= $8 or msg.place = 1
    order by msg.seq desc, msg.seq
--> statement-breakpoint

    select
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  msg.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $1 then $2::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $3),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      msg.place, msg.has_next, null
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as place,
        lead(true) over page as has_next,
        sum(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0) + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (
    select msg.*, known.ordinal
    from unnest($4::uuid[], $5::int[])
      with ordinality as known (channel_id, rev, ordinal)
    cross join lateral (
      select changed.*
      from messages changed
      where changed.channel_id = known.channel_id
        and changed.rev > known.rev
        and changed.rev is distinct from changed.created_rev
      union all
      select sent.*
      from (
  with recursive search as (
    select greatest(c.last_seq - (c.rev - known.rev), 0) as low, c.last_seq + 1 as high
    from channels c
    where c.id = known.channel_id
    union all
    select
      case when probe.is_before then middle.seq else search.low end,
      case when probe.is_before then search.high else middle.seq end
    from search
    cross join lateral (
      select search.low + (search.high - search.low) / 2 as seq
    ) middle
    left join lateral (
      select coalesce(created_rev, rev) <= known.rev as is_before
      from messages
      where channel_id = known.channel_id
        and seq >= middle.seq
        and seq <= middle.seq
      order by seq
      limit 1
    ) probe on true
    where search.high - search.low > 1
  )
  select min(search.high) as seq
  from search) first
      cross join lateral (
        select *
        from messages
        where channel_id = known.channel_id
          and seq >= first.seq
        order by seq
        limit $6
      ) sent
      where sent.rev > known.rev
        and sent.rev is not distinct from sent.created_rev
    ) msg
    order by known.ordinal, msg.rev, msg.seq
    limit $7) msg
      cross join lateral (
        select 
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $8), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $9) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by msg.ordinal, msg.rev)
    ) msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.bytes <= $10 or msg.place = 1
    order by msg.ordinal, msg.rev, msg.seq
--> statement-breakpoint

    select
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  msg.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $1 then $2::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $3),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      msg.place, msg.has_next, null
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as place,
        lead(true) over page as has_next,
        sum(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0) + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (
    select newest.*, given.place as channel_place
    from unnest($4::uuid[]) with ordinality as given (id, place)
    cross join lateral (
      select msg.*
      from messages msg
      where msg.channel_id = given.id
        and num_nulls(msg.deleted_at) = 1
      order by msg.seq desc
      limit $5
    ) newest) msg
      cross join lateral (
        select 
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $6), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $7) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by msg.channel_place, msg.seq desc)
    ) msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.bytes <= $8 or msg.place = 1
    order by msg.channel_place, msg.seq desc, msg.seq
--> statement-breakpoint

    select
      
  msg.id, null, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  msg.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  (
    select exists (
      select
      from pins
      where channel_id = $1
    )
  ) and 
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $2 then $3::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $4),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      msg.place, msg.has_next, concat(
        '"pinnedBy":', to_json(msg.pinned_by),
        ',"pinnedAt":"', to_char(msg.pinned_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '"'
      )
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as place,
        lead(true) over page as has_next,
        sum(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0) + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (
        select msg.*, p.pinned_by, p.pinned_at
        from pins p
        join messages msg on msg.id = p.message_id
        where p.channel_id = $5
          and (
  select (
  m.user_id is not null
  or c.type in ('public', 'livestream')
  or (c.type = 'team' and wm.user_id is not null)
)
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $6
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $7
  
  where c.id = $8
    and c.app_id is not distinct from $9
    and num_nulls(c.deleted_at) = 1
)
        order by p.pinned_at desc, msg.seq desc
        offset $10) msg
      cross join lateral (
        select 
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $11), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $12) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by msg.pinned_at desc, msg.seq desc)
    ) msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.bytes <= $13 or msg.place = 1
    order by msg.pinned_at desc, msg.seq desc, msg.seq
--> statement-breakpoint

    select
      
  msg.id, null, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  msg.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  (
    select exists (
      select
      from pins
      where channel_id = $1
    )
  ) and 
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $2 then $3::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $4),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      msg.place, msg.has_next, null
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as place,
        lead(true) over page as has_next,
        sum(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0) + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (
    select msg.*
    from messages msg
    where msg.channel_id = $5
      and msg.seq > $6
      and (
  select (
  m.user_id is not null
  or c.type in ('public', 'livestream')
  or (c.type = 'team' and wm.user_id is not null)
)
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $7
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $8
  
  where c.id = $9
    and c.app_id is not distinct from $10
    and num_nulls(c.deleted_at) = 1
)
    order by msg.seq
    limit $11) msg
      cross join lateral (
        select 
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $12), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $13) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by msg.seq)
    ) msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.bytes <= $14 or msg.place = 1
    order by msg.seq, msg.seq
--> statement-breakpoint

    select
      
  msg.id, null, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  msg.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  (
    select exists (
      select
      from pins
      where channel_id = $1
    )
  ) and 
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $2 then $3::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $4),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      msg.place, msg.has_next, null
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as place,
        lead(true) over page as has_next,
        sum(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0) + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (
    select msg.*
    from messages msg
    where msg.channel_id = $5 and num_nulls(msg.deleted_at) = 1
      and msg.seq < $6
      and (
  select (
  m.user_id is not null
  or c.type in ('public', 'livestream')
  or (c.type = 'team' and wm.user_id is not null)
)
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $7
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $8
  
  where c.id = $9
    and c.app_id is not distinct from $10
    and num_nulls(c.deleted_at) = 1
)
    order by msg.seq desc
    limit $11) msg
      cross join lateral (
        select 
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $12), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $13) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by msg.seq desc)
    ) msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.bytes <= $14 or msg.place = 1
    order by msg.seq desc, msg.seq
--> statement-breakpoint

    select
      
  msg.id, null, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  msg.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  (
    select exists (
      select
      from pins
      where channel_id = $1
    )
  ) and 
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $2 then $3::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $4),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      msg.place, msg.has_next, null
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as place,
        lead(true) over page as has_next,
        sum(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0) + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (
    select msg.*
    from messages msg
    where msg.channel_id = $5 and num_nulls(msg.deleted_at) = 1
      and msg.seq < $6
      and (
  select true
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $7
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $8
  
  where c.id = $9
    and c.app_id is not distinct from $10
    and num_nulls(c.deleted_at) = 1
)
    order by msg.seq desc
    limit $11) msg
      cross join lateral (
        select 
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $12), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $13) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by msg.seq desc)
    ) msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.bytes <= $14 or msg.place = 1
    order by msg.seq desc, msg.seq
--> statement-breakpoint

    select
      
  msg.id, null, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  msg.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  (
    select exists (
      select
      from pins
      where channel_id = $1
    )
  ) and 
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $2 then $3::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $4),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      msg.place, msg.has_next, null
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as place,
        lead(true) over page as has_next,
        sum(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0) + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (
    select msg.*
    from messages msg
    where msg.channel_id = $5 and num_nulls(msg.deleted_at) = 1
      and msg.seq < (
  select msg.seq
  from messages msg
  where msg.id = $6
    and msg.channel_id is not distinct from $7
)
      and (
  select (
  m.user_id is not null
  or c.type in ('public', 'livestream')
  or (c.type = 'team' and wm.user_id is not null)
)
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $8
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $9
  
  where c.id = $10
    and c.app_id is not distinct from $11
    and num_nulls(c.deleted_at) = 1
)
    order by msg.seq desc
    limit $12) msg
      cross join lateral (
        select 
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $13), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $14) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by msg.seq desc)
    ) msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.bytes <= $15 or msg.place = 1
    order by msg.seq desc, msg.seq
--> statement-breakpoint

    select
      
  msg.id, null, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  msg.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  (
    select exists (
      select
      from pins
      where channel_id = $1
    )
  ) and 
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $2 then $3::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $4),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      msg.place, msg.has_next, null
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as place,
        lead(true) over page as has_next,
        sum(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0) + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (
    select msg.*
    from messages msg
    where msg.channel_id = $5 and num_nulls(msg.deleted_at) = 1
      and msg.seq > (
  select msg.seq
  from messages msg
  where msg.id = $6
    and msg.channel_id is not distinct from $7
)
      and (
  select (
  m.user_id is not null
  or c.type in ('public', 'livestream')
  or (c.type = 'team' and wm.user_id is not null)
)
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $8
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $9
  
  where c.id = $10
    and c.app_id is not distinct from $11
    and num_nulls(c.deleted_at) = 1
)
    order by msg.seq
    limit $12) msg
      cross join lateral (
        select 
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $13), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $14) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by msg.seq)
    ) msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.bytes <= $15 or msg.place = 1
    order by msg.seq, msg.seq
--> statement-breakpoint

    select
      
  msg.id, null, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  msg.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  (
    select exists (
      select
      from pins
      where channel_id = $1
    )
  ) and 
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $2 then $3::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $4),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      msg.place, msg.has_next, null
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as place,
        lead(true) over page as has_next,
        sum(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0) + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (
    select msg.*
    from messages msg
    where msg.parent_id = $5 and num_nulls(msg.deleted_at) = 1
      and msg.seq < $6
      and (
  select (
  m.user_id is not null
  or c.type in ('public', 'livestream')
  or (c.type = 'team' and wm.user_id is not null)
)
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $7
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $8
  
  where c.id = $9
    and c.app_id is not distinct from $10
    and num_nulls(c.deleted_at) = 1
)
    order by msg.seq desc
    limit $11) msg
      cross join lateral (
        select 
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $12), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $13) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by msg.seq desc)
    ) msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.bytes <= $14 or msg.place = 1
    order by msg.seq desc, msg.seq
--> statement-breakpoint

    select
      (
  exists (
    select
    from webhooks wh
    where wh.app_id = c.app_id
  )
  and exists (
    select
    from events e
    where e.topic = 'chat:' || c.app_id || ':' || c.id
  )
) as are_events_kept,
      array(
        select m.user_id
        from members m
        where m.channel_id = c.id
          and c.type = 'messaging'
        union
        select fm.user_id
        from former_members fm
        where fm.channel_id = c.id
          and c.type = 'messaging'
      ) as user_ids
    from channels c
    where c.id = $1
      and c.app_id is not distinct from $2
--> statement-breakpoint

    select
      (select count(*)::int from (
    select
    from users u
    where u.app_id = $1
      and u.deleted_at is null
    limit $2) u) as users,
      (select count(*)::int from (
    select
    from connections con
    where con.app_id = $3
    limit $4) con) as connected,
      of_channels.*
    from (
      select count(*)::int as channels, coalesce(sum(c.last_seq), 0)::float8 as messages
      from (
        select c.last_seq
        from channels c
        where c.app_id = $5
          and c.deleted_at is null
        limit $6
      ) c
    ) of_channels
--> statement-breakpoint

    select
      a.id, a.name, a.created_at, a.disabled_at,
      a.message_retention_days, a.user_admin_access, a.rate_limits,
      coalesce((
        select jsonb_agg(jsonb_build_object(
  'id', ak.id,
  'name', ak.name,
  'scopes', ak.scopes,
  'createdAt', to_char(ak.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'lastUsedAt', to_char(ak.last_used_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'expiresAt', to_char(ak.expires_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
) order by ak.id)
        from api_keys ak
        where ak.app_id = a.id
      ), '[]') as keys
    from apps a
    where num_nulls(a.deleted_at) = 1
      and 
        a.id > $1
        order by a.id
        limit $2
        offset $3
--> statement-breakpoint

    select
      a.id, a.name, a.created_at, a.disabled_at,
      a.message_retention_days, a.user_admin_access, a.rate_limits,
      coalesce((
        select jsonb_agg(jsonb_build_object(
  'id', ak.id,
  'name', ak.name,
  'scopes', ak.scopes,
  'createdAt', to_char(ak.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'lastUsedAt', to_char(ak.last_used_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'expiresAt', to_char(ak.expires_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
) order by ak.id)
        from api_keys ak
        where ak.app_id = a.id
      ), '[]') as keys
    from apps a
    where num_nulls(a.deleted_at) = 1
      and 
        true
        order by a.id
        limit $1
        offset $2
--> statement-breakpoint

    select
      a.id, a.name, a.created_at, a.disabled_at,
      a.message_retention_days, a.user_admin_access, a.rate_limits,
      coalesce((
        select jsonb_agg(jsonb_build_object(
  'id', ak.id,
  'name', ak.name,
  'scopes', ak.scopes,
  'createdAt', to_char(ak.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'lastUsedAt', to_char(ak.last_used_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'expiresAt', to_char(ak.expires_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
) order by ak.id)
        from api_keys ak
        where ak.app_id = a.id
      ), '[]') as keys
    from apps a
    where num_nulls(a.deleted_at) = 1
      and a.id = $1
--> statement-breakpoint

    select
      aud.id::text as id, aud.created_at, aud.app_id,
      aud.actor, aud.key_id, aud.user_id,
      aud.operation, aud.target, aud.request_id
    from audit aud
    where aud.app_id = any(array[$1::uuid])
      and 
      (aud.app_id, aud.id) >= ($2, $3::bigint)
      and (aud.app_id, aud.id) <= ($4, $5::bigint)
      and aud.operation = $6
      and true
      and true
      and true
    order by aud.app_id desc, aud.id desc
    limit $7
--> statement-breakpoint

    select
      aud.id::text as id, aud.created_at, aud.app_id,
      aud.actor, aud.key_id, aud.user_id,
      aud.operation, aud.target, aud.request_id
    from audit aud
    where aud.app_id = any(array[$1::uuid])
      and 
      (aud.app_id, aud.id) >= ($2, $3::bigint)
      and (aud.app_id, aud.id) <= ($4, $5::bigint)
      and true
      and aud.actor = $6
      and true
      and true
    order by aud.app_id desc, aud.id desc
    limit $7
--> statement-breakpoint

    select
      aud.id::text as id, aud.created_at, aud.app_id,
      aud.actor, aud.key_id, aud.user_id,
      aud.operation, aud.target, aud.request_id
    from audit aud
    where aud.app_id = any(array[$1::uuid])
      and 
      (aud.app_id, aud.id) >= ($2, $3::bigint)
      and (aud.app_id, aud.id) <= ($4, $5::bigint)
      and true
      and true
      and true
      and aud.key_id = $6
    order by aud.app_id desc, aud.id desc
    limit $7
--> statement-breakpoint

    select
      aud.id::text as id, aud.created_at, aud.app_id,
      aud.actor, aud.key_id, aud.user_id,
      aud.operation, aud.target, aud.request_id
    from audit aud
    where aud.app_id = any(array[$1::uuid])
      and 
      (aud.app_id, aud.id) >= ($2, $3::bigint)
      and (aud.app_id, aud.id) <= ($4, $5::bigint)
      and true
      and true
      and true
      and true
    order by aud.app_id desc, aud.id desc
    limit $6
--> statement-breakpoint

    select
      aud.id::text as id, aud.created_at, aud.app_id,
      aud.actor, aud.key_id, aud.user_id,
      aud.operation, aud.target, aud.request_id
    from audit aud
    where true
      and aud.id between $1::bigint and $2::bigint
      and aud.operation = $3
      and true
      and true
      and true
    order by aud.id desc
    limit $4
--> statement-breakpoint

    select
      aud.id::text as id, aud.created_at, aud.app_id,
      aud.actor, aud.key_id, aud.user_id,
      aud.operation, aud.target, aud.request_id
    from audit aud
    where true
      and aud.id between $1::bigint and $2::bigint
      and true
      and aud.actor = $3
      and true
      and true
    order by aud.id desc
    limit $4
--> statement-breakpoint

    select
      aud.id::text as id, aud.created_at, aud.app_id,
      aud.actor, aud.key_id, aud.user_id,
      aud.operation, aud.target, aud.request_id
    from audit aud
    where true
      and aud.id between $1::bigint and $2::bigint
      and true
      and true
      and true
      and true
    order by aud.id desc
    limit $3
--> statement-breakpoint

    select
      bsh.url, bsh.on_error, bsh.timeout_ms,
      array_remove(
        array[
          bsh.secret,
          case when bsh.previous_secret_expires_at > now() then bsh.previous_secret end
        ],
        null
      ) as secrets
    from before_send_hooks bsh
    where bsh.app_id = $1
--> statement-breakpoint

    select
      c.id is not null as has_channel,
      given.message_id is null or msg.id is not null as has_message,
      m.user_id is not null as is_member
    from 
  unnest(
    $1::uuid[],
    $2::text[],
    $3::uuid[]
  ) with ordinality as given (channel_id, user_id, message_id, ordinal)
  left join channels c
    on c.id = given.channel_id
    and c.app_id is not distinct from $4
    and c.deleted_at is null
  left join messages msg
    on msg.id = given.message_id
    and msg.channel_id is not distinct from c.id
    left join members m on m.channel_id = c.id and m.user_id = given.user_id
    order by given.ordinal
--> statement-breakpoint

    select
      c.id, c.type,
      case
        when c.deleted_at is null then 'live'
        when c.deleted_at = 'infinity' then 'importing'
        else 'deleted'
      end as state
    from channels c
    where c.id = any($1::uuid[])
      and c.app_id is not distinct from $2
    order by c.id
    for key share
--> statement-breakpoint

    select
      command.ordinal::int,
      c.id as channel_id, c.type as channel_type, c.last_seq, c.rev, c.frozen,
      u.id as author_id, u.display_name as author_name, u.image as author_image,
      u.deleted_at is not null as is_author_deleted,
      m.role, m.last_read_seq, m.unread_after_seq,
      coalesce(
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
  )::int as author_seq,
      (
    select id
    from messages
    where channel_id = command.channel_id
      and user_id = command.user_id
      and client_id = command.client_id
  ) as earlier_id,
      root.id as root_id, root.reply_count as root_reply_count,
      greatest(statement_timestamp(), c.last_activity_at) as now
    from unnest(
      $1::uuid[], $2::text[], $3::text[], $4::uuid[]
    )
      with ordinality as command (channel_id, user_id, client_id, parent_id, ordinal)
    join users u on u.app_id = $5 and u.id = command.user_id
    left join channels c
      on c.id = command.channel_id
      and c.app_id is not distinct from $6
      and c.deleted_at is null
    left join lateral (
      select role, last_read_seq, unread_after_seq
      from members
      where channel_id = command.channel_id
        and user_id = command.user_id
      limit 1
    ) m on true
    left join lateral (
    select msg.id, msg.reply_count
    from messages parent
    join messages msg on msg.id = coalesce(parent.parent_id, parent.id)
    where parent.id = command.parent_id
      and parent.channel_id is not distinct from command.channel_id
      and parent.deleted_at is null
    limit 1) root on command.parent_id is not null
    order by u.id, command.ordinal
    for key share of u
--> statement-breakpoint

    select
      count(*)::int as count,
      max(slice."offset") as last,
      min(slice."offset") filter (where slice.is_naming) as first
    from (
      select e."offset", (
  e.type = 'channel.updated'
  or exists (
    select
    from unnest($1::text[]) given (text)
    where strpos(e.envelope, given.text) > 0
  )
) as is_naming
      from events e
      where e.topic = $2
        and e."offset" > $3
      order by e."offset"
      limit $4
    ) slice
--> statement-breakpoint

    select
      current_setting('server_version_num')::int as version,
      current_setting('server_version') as name,
      current_setting('server_encoding') as encoding,
      current_setting('transaction_read_only')::boolean as "isReadOnly"
--> statement-breakpoint

    select
      current_user as role,
      current_database() as database,
      has_database_privilege(current_database(), 'create') as "mayCreateSchemas",
      coalesce(
        has_schema_privilege(to_regnamespace('public')::oid, 'create'),
        false
      ) as "mayCreateTables"
--> statement-breakpoint

    select
      e."offset", e.message_id,
      case when (
  e.type = 'channel.updated'
  or exists (
    select
    from unnest($1::text[]) given (text)
    where strpos(e.envelope, given.text) > 0
  )
) then e.envelope end as envelope
    from events e
    where e.topic = $2
      and e."offset" > $3
    order by e."offset"
    limit $4
--> statement-breakpoint

    select
      e.topic, e."offset", e.type, e.envelope, e.message_id,
      extract(epoch from clock_timestamp() - e.created_at)::float as age_seconds,
      measured.bytes
    from (
      select
        found.topic, found."offset", found.bytes,
        sum(found.bytes) over (
          order by given.index, found."offset"
          rows between unbounded preceding and 1 preceding
        ) as bytes_before
      from unnest($1::text[], $2::int[])
        with ordinality as given (topic, after, index)
      cross join lateral (
        select e.topic, e."offset", octet_length(e.envelope)
    + case when e.type = 'message.new' then $3::int else 0 end as bytes
        from events e
        where e.topic = given.topic and e."offset" > given.after
        order by e."offset"
        limit 500
      ) found
    ) measured
    join events e on e.topic = measured.topic and e."offset" = measured."offset"
    where coalesce(measured.bytes_before, 0) < $4
    order by e.topic, e."offset"
--> statement-breakpoint

    select
      exists (
        select
        from imported_rows ir
        join channels c on c.id = ir.channel_id
        where ir.app_id = a.id
          and (ir.record <> 'channel' or c.deleted_at = 'infinity')
      ) as is_importing
    from apps a
    where a.id::text = $1
      and a.deleted_at is null
    limit 1
--> statement-breakpoint

    select
      given.id,
      coalesce(msg.channel_id, waiting.channel_id) as channel_id,
      coalesce(msg.parent_id, waiting.parent_id) as parent_id,
      (
        extract(epoch from coalesce(msg.created_at, waiting.created_at)) * 1000000
      )::float8 as created_micros,
      msg.seq
    from unnest($1::uuid[]) as given (id)
    left join lateral (
      select msg.channel_id, msg.parent_id, msg.created_at, msg.seq
      from messages msg
      where msg.id = given.id
        and msg.app_id is not distinct from $2
      limit 1
    ) msg on true
    left join lateral (
      select ir.channel_id, (ir.row ->> 'parentId')::uuid as parent_id, ir.created_at
      from imported_rows ir
      where ir.app_id = $3
        and ir.record = 'message'
        and ir.key = given.id::text
      limit 1
    ) waiting on true
    where msg.channel_id is not null
      or waiting.channel_id is not null
--> statement-breakpoint

    select
      m.app_id, m.user_id, m.channel_id,
      
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $1
        and tc.part >= m.unread_after_seq / $2::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $3::int + 1) * $4::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $5::int + 1) * $6::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $7
      and tc.part > m.unread_after_seq / $8::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $9::int
  ), 0)
    else 0
  end)
    )::int
  end as count, c.rev + coalesce(m.unread_after_seq, c.last_seq) as version,
      coalesce((
        select true
        from read_marks rm
        where rm.channel_id = m.channel_id
          and rm.user_id = m.user_id
          and rm.seq = m.last_read_seq
          and rm.read_at > now() - $10 * interval '1 second'
        limit 1
      ), false) as is_recent
    from unnest($11::uuid[], $12::text[]) as given (app_id, user_id)
    cross join lateral (
      select *
      from members
      where app_id = given.app_id
        and user_id = given.user_id
      offset 0
    ) m
    cross join lateral (
      select *
      from channels
      where id = m.channel_id
      limit 1
    ) c
    where c.deleted_at is null
--> statement-breakpoint

    select
      m.channel_id, m.user_id,
      
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $1
        and tc.part >= m.unread_after_seq / $2::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $3::int + 1) * $4::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $5::int + 1) * $6::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $7
      and tc.part > m.unread_after_seq / $8::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $9::int
  ), 0)
    else 0
  end)
    )::int
  end as count, c.rev + coalesce(m.unread_after_seq, c.last_seq) as version
    from unnest($10::uuid[], $11::text[]) as given (channel_id, user_id)
    join members m on m.channel_id = given.channel_id and m.user_id = given.user_id
    join channels c
      on c.id = m.channel_id
      and c.app_id is not distinct from $12
      and c.deleted_at is null
--> statement-breakpoint

    select
      m.channel_id, m.user_id, m.profile as "user", m.role,
      coalesce(m.custom, '{}') as custom, m.joined_at, m.last_read_seq
    from (
      select
        m.*, given.place, more.profile,
        sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $1 + coalesce(octet_length(m.custom::text), 0)) over (order by given.place) as bytes
      from unnest($2::uuid[]) with ordinality as given (id, place)
      cross join lateral (
        select *
        from members
        where channel_id = given.id
        order by joined_at, user_id
        limit $3
      ) m
      join users u on u.app_id = m.app_id and u.id = m.user_id
      cross join lateral (
        select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
        offset 0 -- measured and answered, but made once
      ) more
    ) m
    where m.bytes <= $4
    order by m.place, m.joined_at, m.user_id
--> statement-breakpoint

    select
      m.node_id, m.app_id, m.user_id, m.channel_id,
      
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $1
        and tc.part >= m.unread_after_seq / $2::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $3::int + 1) * $4::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $5::int + 1) * $6::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $7
      and tc.part > m.unread_after_seq / $8::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $9::int
  ), 0)
    else 0
  end)
    )::int
  end as count, c.rev + coalesce(m.unread_after_seq, c.last_seq) as version
    from channels c
    cross join lateral (
  select (c.member_count > $10) and c.member_count > (
    select count(*)
    from (
      select
      from connections
      where app_id = c.app_id
        
      limit c.member_count
    ) connected
  ) as is_crowded
  offset 0
) size
    cross join lateral (
      select con.node_id, m.*
      from members m
      cross join lateral (
  select node_id
  from connections
  where app_id = m.app_id
    and user_id = m.user_id
    
  offset 0
) con
      where m.channel_id = c.id
        and not size.is_crowded
      union all
      select con.node_id, m.*
      from connections con
      cross join lateral (
        select *
        from members
        where channel_id = c.id
          and user_id = con.user_id
        limit 1
      ) m
      where con.app_id = c.app_id
        
        and size.is_crowded
    ) m
    where c.id = any($11::uuid[])
      and num_nulls(c.deleted_at) = 1
--> statement-breakpoint

    select
      m.node_id, m.app_id, m.user_id, m.channel_id,
      
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $1
        and tc.part >= m.unread_after_seq / $2::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $3::int + 1) * $4::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $5::int + 1) * $6::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $7
      and tc.part > m.unread_after_seq / $8::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $9::int
  ), 0)
    else 0
  end)
    )::int
  end as count, c.rev + coalesce(m.unread_after_seq, c.last_seq) as version
    from channels c
    cross join lateral (
  select (c.member_count > $10) and c.member_count > (
    select count(*)
    from (
      select
      from connections
      where app_id = c.app_id
        and node_id = $11
      limit c.member_count
    ) connected
  ) as is_crowded
  offset 0
) size
    cross join lateral (
      select con.node_id, m.*
      from members m
      cross join lateral (
  select node_id
  from connections
  where app_id = m.app_id
    and user_id = m.user_id
    and node_id = $12
  offset 0
) con
      where m.channel_id = c.id
        and not size.is_crowded
      union all
      select con.node_id, m.*
      from connections con
      cross join lateral (
        select *
        from members
        where channel_id = c.id
          and user_id = con.user_id
        limit 1
      ) m
      where con.app_id = c.app_id
        and node_id = $13
        and size.is_crowded
    ) m
    where c.id = any($14::uuid[])
      and num_nulls(c.deleted_at) = 1
--> statement-breakpoint

    select
      now() as now,
      (
        select s.value
        from service s
        where s.key = 'epoch'
      ) as epoch
--> statement-breakpoint

    select
      u.app_id, u.id as user_id, u.display_name as name, u.image,
      coalesce(extract(epoch from u.profile_changed_at) * 1000000, 0)::float8 as version,
      u.profile_changed_at > now() - $1 * interval '1 millisecond' as is_recent
    from unnest($2::uuid[], $3::text[]) as given (app_id, user_id)
    join users u on u.app_id = given.app_id and u.id = given.user_id
    where u.deleted_at is null
--> statement-breakpoint

    select
      u.display_name as name, u.image,
      coalesce(mark.read_at, now()) as read_at
    from users u
    left join lateral (
      select rm.read_at
      from read_marks rm
      where rm.channel_id = $1
        and rm.user_id = u.id
        and rm.seq >= (
          select msg.seq
          from messages msg
          where msg.id = $2
        )
      order by rm.seq
      limit 1
    ) mark on true
    where u.app_id = $3
      and u.id = $4
--> statement-breakpoint

    select
    from apps
    where id = $1
    for no key update
--> statement-breakpoint

    select
    from apps a
    where a.id = $1
      and num_nulls(a.deleted_at) = 1
--> statement-breakpoint

    select
    from audit aud
    where aud.id = $1::bigint
      and aud.app_id = $2
      and aud.key_id is not distinct from $3
      and aud.operation = $4
      and aud.target ->> 'userId' = $5
      and aud.created_at > now() - $6 * interval '1 hour'
--> statement-breakpoint

    select
    from channels c
    where c.id = any($1::uuid[])
      and c.app_id is not distinct from $2
    order by c.id
    for no key update
--> statement-breakpoint

    select
    from imports i
    where i.app_id = $1
    for update
--> statement-breakpoint

    select
    from pg_policies
    where schemaname = $1
      and tablename = $2
      and policyname = left($3, 63)
--> statement-breakpoint

    select
    from unnest($1::text[]) as given (line)
    cross join lateral (values (line::jsonb)) as parsed (row)
    where row ->> $2 is distinct from $3  
      or (
        select other.app_id
        from "channels" other
        where other.id = (row ->> $4)::uuid
        limit 1
      ) <> $5 
      or (
        select other.app_id
        from "messages" other
        where other.id = (row ->> $6)::uuid
        limit 1
      ) <> $7 
      or (
        select other.app_id
        from "messages" other
        where other.id = (row ->> $8)::uuid
        limit 1
      ) <> $9 
      or (
        select other.app_id
        from "messages" other
        where other.id = (row ->> $10)::uuid
        limit 1
      ) <> $11 
      or (
        select other.app_id
        from "workspace_invites" other
        where other.id = (row ->> $12)::uuid
        limit 1
      ) <> $13
    limit 1
--> statement-breakpoint

    select
    from users u
    where u.app_id = $1
      and u.id = $2
      and u.deleted_at is null
--> statement-breakpoint

    select
    where to_regclass('service') is not null
--> statement-breakpoint

    select 
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $1), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $2) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $3 then $4::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $5),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted
    from messages msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    
      where msg.id = $6
        and msg.channel_id is not distinct from $7
        and msg.deleted_at is null
        and (
  select (
  m.user_id is not null
  or c.type in ('public', 'livestream')
  or (c.type = 'team' and wm.user_id is not null)
)
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $8
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $9
  
  where c.id = $10
    and c.app_id is not distinct from $11
    and num_nulls(c.deleted_at) = 1
)
--> statement-breakpoint

    select 
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $1), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $2) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $3 then $4::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $5),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted
    from messages msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    
    where msg.app_id = $6
      and msg.channel_id = $7
      and msg.user_id = $8
      and msg.client_id = $9
--> statement-breakpoint

    select 
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $1), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $2) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $3 then $4::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $5),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted
    from messages msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.id = $6
--> statement-breakpoint

    select 
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $1), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $2) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $3 then $4::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $5),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted
    from messages msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.id = any($6::uuid[])
--> statement-breakpoint

    select 
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = msg.user_id), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $1) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $2 then $3::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $4),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted
    from messages msg
    
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
    where msg.id = any($5::uuid[])
--> statement-breakpoint

    select 
  wd.id::text as id, wd.event_type,
  wd.status, wd.attempts, wd.response_status, wd.error,
  case when wd.status in ('pending', 'retrying') then wd.next_attempt_at end as next_attempt_at,
  wd.created_at
    from webhook_deliveries wd
    where wd.webhook_id = $1
      and true
    order by wd.id desc
    limit $2
--> statement-breakpoint

    select 
  wd.id::text as id, wd.event_type,
  wd.status, wd.attempts, wd.response_status, wd.error,
  case when wd.status in ('pending', 'retrying') then wd.next_attempt_at end as next_attempt_at,
  wd.created_at
    from webhook_deliveries wd
    where wd.webhook_id = $1
      and wd.id < $2::bigint
    order by wd.id desc
    limit $3
--> statement-breakpoint

    select "offset", type, envelope, message_id
    from (
      select
        page.*,
        sum(own_bytes) over (order by "offset" asc) as bytes
      from (
        select
          e."offset", e.type, e.envelope, e.message_id,
          octet_length(e.envelope)
    + case when e.type = 'message.new' then $1::int else 0 end as own_bytes
        from events e
        where e.topic = $2 and e."offset" > $3
        order by e."offset" asc
        limit $4
      ) page
    ) measured
    where bytes <= $5 or bytes = own_bytes
    order by "offset" asc
--> statement-breakpoint

    select "offset", type, envelope, message_id
    from (
      select
        page.*,
        sum(own_bytes) over (order by "offset" asc) as bytes
      from (
        select
          e."offset", e.type, e.envelope, e.message_id,
          octet_length(e.envelope)
    + case when e.type = 'message.new' then $1::int else 0 end as own_bytes
        from events e
        where e.topic = $2 and true
        order by e."offset" asc
        limit $3
      ) page
    ) measured
    where bytes <= $4 or bytes = own_bytes
    order by "offset" asc
--> statement-breakpoint

    select "offset", type, envelope, message_id
    from (
      select
        page.*,
        sum(own_bytes) over (order by "offset" desc) as bytes
      from (
        select
          e."offset", e.type, e.envelope, e.message_id,
          octet_length(e.envelope)
    + case when e.type = 'message.new' then $1::int else 0 end as own_bytes
        from events e
        where e.topic = $2 and e."offset" < $3
        order by e."offset" desc
        limit $4
      ) page
    ) measured
    where bytes <= $5 or bytes = own_bytes
    order by "offset" desc
--> statement-breakpoint

    select ((to_jsonb(a)))::text as row
    from apps a where a.id = $1
--> statement-breakpoint

    select ((to_jsonb(ak)))::text as row
    from 
      "api_keys" "ak"
      where "ak"."app_id" = $1
--> statement-breakpoint

    select ((to_jsonb(au)))::text as row
    from 
      "active_users" "au"
      where "au"."app_id" = $1
--> statement-breakpoint

    select ((to_jsonb(aud)) - 'id')::text as row
    from audit aud where aud.app_id = $1 order by aud.id
--> statement-breakpoint

    select ((to_jsonb(bsh)))::text as row
    from 
      "before_send_hooks" "bsh"
      where "bsh"."app_id" = $1
--> statement-breakpoint

    select ((to_jsonb(c)))::text as row
    from channels c where c.app_id = $1 and c.deleted_at is null
--> statement-breakpoint

    select ((to_jsonb(d)))::text as row
    from 
      "devices" "d"
      where "d"."app_id" = $1
--> statement-breakpoint

    select ((to_jsonb(fm)))::text as row
    from 
      channels c
      join "former_members" "fm" on "fm"."channel_id" = c.id
      where c.app_id = $1
        and c.deleted_at is null
--> statement-breakpoint

    select ((to_jsonb(m)))::text as row
    from 
      channels c
      join "members" "m" on "m"."channel_id" = c.id
      where c.app_id = $1
        and c.deleted_at is null
--> statement-breakpoint

    select ((to_jsonb(msg) || case
      when msg.streaming then jsonb_build_object(
        'text', msg.text || coalesce(ms.tail, ''), 'streaming', false, 'interrupted', true
      )
      else '{}'
    end))::text as row
    from 
      channels c
      join messages msg on msg.channel_id = c.id
      left join message_streams ms on ms.message_id = msg.id
      where c.app_id = $1
        and c.deleted_at is null
--> statement-breakpoint

    select ((to_jsonb(p)))::text as row
    from 
      channels c
      join "pins" "p" on "p"."channel_id" = c.id
      where c.app_id = $1
        and c.deleted_at is null
--> statement-breakpoint

    select ((to_jsonb(pref)))::text as row
    from 
      "preferences" "pref"
      where "pref"."app_id" = $1
--> statement-breakpoint

    select ((to_jsonb(r)))::text as row
    from 
      reactions r
      join messages msg on msg.id = r.message_id
      join channels c on c.id = msg.channel_id
      where r.app_id = $1
        and c.deleted_at is null
--> statement-breakpoint

    select ((to_jsonb(rm)))::text as row
    from 
      channels c
      join "read_marks" "rm" on "rm"."channel_id" = c.id
      where c.app_id = $1
        and c.deleted_at is null
--> statement-breakpoint

    select ((to_jsonb(tc)))::text as row
    from 
      channels c
      join "tombstone_counts" "tc" on "tc"."channel_id" = c.id
      where c.app_id = $1
        and c.deleted_at is null
--> statement-breakpoint

    select ((to_jsonb(u)))::text as row
    from 
      "users" "u"
      where "u"."app_id" = $1
--> statement-breakpoint

    select ((to_jsonb(us)))::text as row
    from 
      "user_streams" "us"
      where "us"."app_id" = $1
--> statement-breakpoint

    select ((to_jsonb(w)))::text as row
    from 
      "workspaces" "w"
      where "w"."app_id" = $1
--> statement-breakpoint

    select ((to_jsonb(wh)))::text as row
    from 
      "webhooks" "wh"
      where "wh"."app_id" = $1
--> statement-breakpoint

    select ((to_jsonb(wi)))::text as row
    from 
      workspaces w
      join workspace_invites wi on wi.workspace_id = w.id
      where w.app_id = $1
        and wi.expires_at > now() + interval '1 hour'
--> statement-breakpoint

    select ((to_jsonb(wiu) || jsonb_build_object('app_id', w.app_id)))::text as row
    from 
      workspaces w
      join workspace_invites wi on wi.workspace_id = w.id
      join workspace_invite_uses wiu on wiu.invite_id = wi.id
      where w.app_id = $1
        and wi.expires_at > now() + interval '1 hour'
--> statement-breakpoint

    select ((to_jsonb(wm)))::text as row
    from 
      "workspace_members" "wm"
      where "wm"."app_id" = $1
--> statement-breakpoint

    select (u.deleted_at || ' ' || u.id) as name
    from users u
    where u.app_id = $1
      and u.id = any($2)
      and u.deleted_at is not null
      and u.forgotten_at is null
--> statement-breakpoint

    select *, clock_timestamp() as now
    from messages
    where channel_id = $1
      and user_id collate "C" = $2
      and seq > $3
    order by seq
    limit $4
--> statement-breakpoint

    select ai.export_id, ai.batches, ai.checksum as sum
    from apps a
    left join app_imports ai on ai.app_id = a.id
    where a.id = $1
    limit 1
--> statement-breakpoint

    select attname as name
    from pg_attribute
    where attrelid = to_regclass($1)
      and attnum > 0
      and not attisdropped
      and attgenerated = ''
    order by attnum
--> statement-breakpoint

    select c.dm_key
    from channels c
    where c.app_id = $1
      and c.dm_key = any($2)
      and c.deleted_at is null
    union all
    select c.dm_key
    from channels c
    where c.app_id = $3
      and c.dm_key = any($4)
      and c.deleted_at = 'infinity'
--> statement-breakpoint

    select c.id
    from channels c
    where c.id = any($1::uuid[])
      and c.app_id is not distinct from $2
      and c.deleted_at = 'infinity'
--> statement-breakpoint

    select case when num_nulls(a.disabled_at, a.deleted_at) = 2 then u.token_generation end
      as token_generation
    from unnest($1::uuid[], $2::text[])
      with ordinality as given (app_id, user_id, index)
    left join users u
      on u.app_id = given.app_id and u.id = given.user_id and u.deleted_at is null
    left join apps a on a.id = u.app_id
    order by given.index
--> statement-breakpoint

    select coalesce(min(slice.seq), 0) as oldest, count(*)::int as count
    from (
      select msg.seq
      from messages msg
      where 
      msg.channel_id = $1
        and msg.user_id collate "C" = $2
        and msg.seq < $3::bigint
        and msg.seq < $4::int
      order by msg.seq desc
      limit $5
    ) slice
--> statement-breakpoint

    select coalesce(min(slice.seq), 0) as oldest, count(*)::int as count
    from (
      select msg.seq
      from messages msg
      where 
      msg.channel_id = $1
        and msg.user_id collate "C" = $2
        and true
        and msg.seq < $3::int
      order by msg.seq desc
      limit $4
    ) slice
--> statement-breakpoint

    select coalesce(min(slice.seq), 0) as oldest, count(*)::int as count
    from (
      select msg.seq
      from messages msg
      where 
      msg.channel_id = $1
        and true
        and msg.seq < $2::bigint
        and true
      order by msg.seq desc
      limit $3
    ) slice
--> statement-breakpoint

    select coalesce(min(slice.seq), 0) as oldest, count(*)::int as count
    from (
      select msg.seq
      from messages msg
      where 
      msg.channel_id = $1
        and true
        and true
        and true
      order by msg.seq desc
      limit $2
    ) slice
--> statement-breakpoint

    select coalesce(sum(
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $1
        and tc.part >= m.unread_after_seq / $2::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $3::int + 1) * $4::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $5::int + 1) * $6::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $7
      and tc.part > m.unread_after_seq / $8::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $9::int
  ), 0)
    else 0
  end)
    )::int
  end), 0)::int as count
    from members m
    join channels c on c.id = m.channel_id and c.deleted_at is null
    where m.app_id = $10
      and m.user_id = $11
--> statement-breakpoint

    select count(*)::int
    from devices
    where app_id = $1
      and user_id = $2
--> statement-breakpoint

    select count(*)::int
    from nodes n
    where n.beat_at > clock_timestamp() - $1::interval
--> statement-breakpoint

    select count(*)::int as count
    from 
      "api_keys" "ak"
      where "ak"."app_id" = $1
--> statement-breakpoint

    select count(*)::int as count
    from 
      "before_send_hooks" "bsh"
      where "bsh"."app_id" = $1
--> statement-breakpoint

    select count(*)::int as count
    from 
      "devices" "d"
      where "d"."app_id" = $1
--> statement-breakpoint

    select count(*)::int as count
    from 
      "webhooks" "wh"
      where "wh"."app_id" = $1
--> statement-breakpoint

    select count(*)::int as others
    from nodes n
    where n.id <> $1
      and n.beat_at > now() - $2 * interval '1 second'
--> statement-breakpoint

    select distinct topic
    from (
  select topic, "offset", type
  from events
  where created_at > now() - $1 * interval '1 second'
  offset 0
) recent
    where topic like 'user:%'
      and type = 'workspace.removed'
--> statement-breakpoint

    select e.topic, e.type, e.envelope, receivers.node_id, receivers.user_ids
    from unnest($1::uuid[], $2::text[], $3::int[])
      as given (channel_id, topic, "offset")
    cross join lateral (
      select topic, type, envelope
      from events
      where topic = given.topic
        and "offset" = given."offset"
      limit 1
    ) e
    cross join lateral (
      select *
      from channels
      where id = given.channel_id
      limit 1
    ) c
    cross join lateral (
  select (c.member_count > $4) and c.member_count > (
    select count(*)
    from (
      select
      from connections
      where app_id = c.app_id
        
      limit c.member_count
    ) connected
  ) as is_crowded
  offset 0
) size
    cross join lateral (
      select connected.node_id, array_agg(connected.user_id) as user_ids
      from (
        select con.node_id, m.user_id
        from members m
        cross join lateral (
  select node_id
  from connections
  where app_id = m.app_id
    and user_id = m.user_id
    
  offset 0
) con
        where m.channel_id = c.id
          and not size.is_crowded
        union all
        select con.node_id, con.user_id
        
  from connections con
  where con.app_id = c.app_id
    
    and size.is_crowded
    and (
      select true
      from members m
      where m.channel_id = c.id
        and m.user_id = con.user_id
    )
      ) connected
      group by connected.node_id
    ) receivers
--> statement-breakpoint

    select e.topic, e.type, e.envelope, receivers.node_id, receivers.user_ids
    from unnest($1::uuid[], $2::text[], $3::int[])
      as given (channel_id, topic, "offset")
    cross join lateral (
      select topic, type, envelope
      from events
      where topic = given.topic
        and "offset" = given."offset"
      limit 1
    ) e
    cross join lateral (
      select *
      from channels
      where id = given.channel_id
      limit 1
    ) c
    cross join lateral (
  select (c.member_count > $4) and c.member_count > (
    select count(*)
    from (
      select
      from connections
      where app_id = c.app_id
        and node_id = $5
      limit c.member_count
    ) connected
  ) as is_crowded
  offset 0
) size
    cross join lateral (
      select connected.node_id, array_agg(connected.user_id) as user_ids
      from (
        select con.node_id, m.user_id
        from members m
        cross join lateral (
  select node_id
  from connections
  where app_id = m.app_id
    and user_id = m.user_id
    and node_id = $6
  offset 0
) con
        where m.channel_id = c.id
          and not size.is_crowded
        union all
        select con.node_id, con.user_id
        
  from connections con
  where con.app_id = c.app_id
    and node_id = $7
    and size.is_crowded
    and (
      select true
      from members m
      where m.channel_id = c.id
        and m.user_id = con.user_id
    )
      ) connected
      group by connected.node_id
    ) receivers
--> statement-breakpoint

    select from users
    where app_id = $1
      and id = $2
      and deleted_at is null
    for no key update
--> statement-breakpoint

    select from workspaces
    where app_id = $1
      and id = $2
    for no key update
--> statement-breakpoint

    select from workspaces
    where id in (
      select workspace_id
      from workspace_members
      where app_id = $1 and user_id = any($2)
    )
    order by id
    for no key update
--> statement-breakpoint

    select given.app_id, given.user_id, u.last_active_at
    from unnest($1::uuid[], $2::text[]) as given (app_id, user_id)
    join users u on u.app_id = given.app_id and u.id = given.user_id
--> statement-breakpoint

    select id
    from channels
    where app_id = $1
      and deleted_at is null
      and (
        dm_key = $2
        or (created_by = $3 and client_id = $4)
      )
    order by client_id = $5 desc nulls last
    limit 1
--> statement-breakpoint

    select id, reply_count, rev
    from messages
    where id = any($1::uuid[])
--> statement-breakpoint

    select id, user_id, provider, false as is_same_device
    from devices
    where id = any(array(
        select id
        from devices
        where app_id = $1
          and token = $2
        union all
        select id
        from devices
        where app_id = $3
          and false
      ))
      and (token = $4 or false)
    order by id
    for update
--> statement-breakpoint

    select ir.channel_id as id
    from imported_rows ir
    join channels c on c.id = ir.channel_id
    where ir.app_id = $1
      and ir.record = 'channel'
      and c.deleted_at = 'infinity'
    order by ir.key
    limit $2
--> statement-breakpoint

    select ir.key
    from unnest(
      $1::text[],
      $2::text[]
    ) as given (record, key)
    join imported_rows ir
      on ir.app_id = $3
      and ir.record = given.record
      and ir.key = given.key
--> statement-breakpoint

    select located.topic, located.last_offset
    from (
      select
        given.topic, given.after,
        coalesce(
          c.rev,
          us.last_offset,
          (select max(e."offset") from events e where e.topic = given.topic)
        ) as last_offset
      from unnest(
        $1::text[], $2::uuid[],
        $3::uuid[], $4::text[],
        $5::int[]
      ) as given (topic, channel_id, app_id, user_id, after)
      left join channels c on c.id = given.channel_id
      left join user_streams us on us.app_id = given.app_id and us.user_id = given.user_id
    ) located
    where located.last_offset > located.after
--> statement-breakpoint

    select m.channel_id, m.user_id, m.last_read_seq
    from unnest(
      $1::uuid[],
      $2::text[]
    ) as given (channel_id, user_id)
    join members m
      on m.channel_id = given.channel_id
      and m.user_id = given.user_id
      and m.app_id is not distinct from $3
--> statement-breakpoint

    select max(created_at)::float8 as latest
    from "drizzle".__drizzle_migrations
--> statement-breakpoint

    select ms.tail, (extract(epoch from clock_timestamp() - "appended_at") * 1000)::float8 as quiet_ms, (extract(epoch from clock_timestamp() - "stored_at") * 1000)::float8 as unstored_ms
    from message_streams ms
    where ms.message_id = $1
      and ms.app_id is not distinct from $2
    for update
--> statement-breakpoint

    select msg.user_id, msg.text || coalesce(ms.tail, '') as text, msg.streaming
    from messages msg
    left join message_streams ms on ms.message_id = msg.id
    where msg.id = $1
      and msg.app_id is not distinct from $2
      and msg.channel_id is not distinct from $3
      and msg.deleted_at is null
--> statement-breakpoint

    select own.channel_id as id
    from (
      select m.channel_id
      from members m
      where m.app_id = $1
        and m.user_id = $2
      union
      select fm.channel_id
      from former_members fm
      where fm.app_id = $3
        and fm.user_id = $4
    ) own
    cross join lateral (
      select
      from channels c
      where c.id = own.channel_id
        and c.deleted_at is null
      limit 1
    ) live
    where own.channel_id >= $5
    order by own.channel_id
    limit $6
--> statement-breakpoint

    select own.id
    from "channels" own
    where (
    own.app_id = any(array[$1::uuid])
    and (own.app_id, own.id) > ($2::uuid, $3::uuid)
    
    
  )
    order by own.app_id, own.id
    offset $4
    limit 1
--> statement-breakpoint

    select own.id
    from "channels" own
    where own.id > $1
    order by own.id
    offset $2
    limit 1
--> statement-breakpoint

    select own.id
    from "workspaces" own
    where (
    own.app_id = any(array[$1::uuid])
    and (own.app_id, own.id) > ($2::uuid, $3::uuid)
    
    
  )
    order by own.app_id, own.id
    offset $4
    limit 1
--> statement-breakpoint

    select own.id
    from "workspaces" own
    where own.id > $1
    order by own.id
    offset $2
    limit 1
--> statement-breakpoint

    select p.message_id
    from pins p
    where p.message_id = any($1::uuid[])
      and p.app_id is not distinct from $2
--> statement-breakpoint

    select quoted.channel_id, 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $1 then $2::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $3),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  ) as quoted
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = any($4::uuid[])
      and quoted.app_id is not distinct from $5
      and quoted.deleted_at is null
--> statement-breakpoint

    select r.message_id, r.emoji, r.user_id
    from unnest(
      $1::uuid[],
      $2::text[],
      $3::text[]
    ) as given (message_id, emoji, user_id)
    join reactions r
      on r.message_id = given.message_id
      and r.emoji = given.emoji
      and r.user_id = given.user_id
      and r.app_id is not distinct from $4
--> statement-breakpoint

    select to_regclass($1) is not null as exists
--> statement-breakpoint

    select topic, max("offset") as "offset"
    from (
  select topic, "offset", type
  from events
  where created_at > now() - $1 * interval '1 second'
  offset 0
) recent
    where topic like 'chat:%'
      and type = any($2)
    group by topic
--> statement-breakpoint

    select u.app_id, u.id as user_id
    from users u
    join unnest($1::uuid[], $2::text[]) as given (app_id, user_id)
      on u.app_id = given.app_id and u.id = given.user_id
    order by u.app_id, u.id
    for no key update of u 
--> statement-breakpoint

    select u.app_id, u.id as user_id
    from users u
    join unnest($1::uuid[], $2::text[]) as given (app_id, user_id)
      on u.app_id = given.app_id and u.id = given.user_id
    order by u.app_id, u.id
    for no key update of u skip locked
--> statement-breakpoint

    select u.id, u.deleted_at is null as is_active
    from users u
    where u.app_id = $1
      and u.id = any($2)
    order by u.id
    for key share
--> statement-breakpoint

    select value
    from service
    where key = 'epoch'
--> statement-breakpoint

    select wh.enabled, wh.url
    from webhooks wh
    where wh.id = $1
      and wh.app_id = $2
    for no key update
--> statement-breakpoint

    select wh.id
    from webhooks wh
    where wh.id = $1
      and wh.app_id = $2
--> statement-breakpoint

    select wm.role
    from workspaces w
    left join workspace_members wm on wm.workspace_id = w.id and wm.user_id = $1
    where w.app_id = $2
      and w.id = $3
--> statement-breakpoint

    select workspace_id, user_id
    from workspace_members
    where app_id = $1 and user_id = any($2)
--> statement-breakpoint

    update app_imports
    set batches = $1, checksum = $2, updated_at = now()
    where app_id = $3
      and export_id = $4
      and batches = $5
--> statement-breakpoint

    update apps
    set deleted_at = null
    where id = $1
    returning disabled_at is not null as is_disabled
--> statement-breakpoint

    update apps a
    set
      name = coalesce($1, a.name),
      disabled_at = case
        when $2::boolean then null
        when not $3::boolean then coalesce(a.disabled_at, now())
        else a.disabled_at
      end,
      message_retention_days = case
        when $4 then $5::int
        else a.message_retention_days
      end,
      user_admin_access = case
        when $6 then $7
        else a.user_admin_access
      end,
      rate_limits = jsonb_strip_nulls(coalesce(a.rate_limits, '{}') || $8)
    where a.id = $9
      and num_nulls(a.deleted_at) = 1
--> statement-breakpoint

    update apps a
    set deleted_at = now()
    where a.id = $1
      and num_nulls(a.deleted_at) = 1
--> statement-breakpoint

    update before_send_hooks bsh
    set
      secret = $1,
      previous_secret = bsh.secret,
      previous_secret_expires_at =
        now() + $2 * interval '1 hour'
    where bsh.app_id = $3
    returning bsh.url, bsh.on_error, bsh.timeout_ms, bsh.created_at, bsh.secret
--> statement-breakpoint

    update channels
    set
      name = $1, image = $2, description = $3,
      custom = $4, frozen = $5,
      updated_at = clock_timestamp()
    where id = $6
    returning *
--> statement-breakpoint

    update channels
    set deleted_at = clock_timestamp(), client_id = null, workspace_id = null
    where id = $1
--> statement-breakpoint

    update channels c
    set
      deleted_at = null,
      updated_at = c.created_at,
      rev = c.last_seq + 1,
      member_count = (
        select count(*)
        from members m
        where m.channel_id = c.id
      ),
      active_hour = date_trunc('hour', c.last_activity_at, 'UTC')
    where c.id = any($1::uuid[])
      and c.app_id is not distinct from $2
      and c.deleted_at = 'infinity'
      and not exists (
        select
        from channels other
        where other.app_id = $3
          and other.dm_key = c.dm_key
          and other.deleted_at is null
      )
--> statement-breakpoint

    update imports
    set leased_until = clock_timestamp() + $1 * interval '1 second'
    where app_id = $2
      and run_id = $3
    returning
      clock_timestamp() as now,
      (
        select num_nulls(a.disabled_at, a.deleted_at) = 2
        from apps a
        where a.id = app_id
      ) as is_open
--> statement-breakpoint

    update members
    set role = $1, custom = $2
    where channel_id = $3
      and user_id = $4
--> statement-breakpoint

    update message_streams
    set tail = '', stored_at = clock_timestamp()
    where message_id = $1
      and app_id is not distinct from $2
--> statement-breakpoint

    update message_streams ms
    set
      tail = ms.tail || $1,
      length = ms.length + $2::int,
      characters = ms.characters + $3::int,
      appended_at = clock_timestamp()
    from channels c
    where ms.message_id = $4
      and ms.app_id is not distinct from $5
      and ms.channel_id is not distinct from $6
      and ms.user_id is not distinct from $7
      and ms.length = $8
      and ms.characters + $9::int <= $10
      and c.id = ms.channel_id
      and c.deleted_at is null
      and c.frozen is not true
      and exists (
    select
    from members m
    where m.channel_id = ms.channel_id
      and m.user_id = ms.user_id
  )
    returning ms.length, (c.member_count > $11) as is_large
--> statement-breakpoint

    update messages
    set
      text = $1, mentions = $2,
      streaming = false, interrupted = $3,
      updated_at = $4
    where id = $5
--> statement-breakpoint

    update messages
    set
      text = $1, mentions = $2, link_previews = $3,
      custom = $4,
      streaming = $5,
      interrupted = $6,
      edited_at = $7, updated_at = $8
    where id = $9
--> statement-breakpoint

    update messages
    set link_previews = $1, updated_at = $2
    where id = $3
--> statement-breakpoint

    update messages
    set text = text || $1, updated_at = $2
    where id = $3
--> statement-breakpoint

    update messages msg
    set reply_count = msg.reply_count + given.count
    from unnest($1::uuid[], $2::int[])
      as given (id, count)
    where msg.id = given.id
      and msg.app_id is not distinct from $3
--> statement-breakpoint

    update messages msg
    set rev = changed.rev
    from unnest($1::uuid[], $2::int[]) as changed (id, rev)
    where msg.id = changed.id
--> statement-breakpoint

    update service
    set value = $1
    where key = 'epoch'
      and exists (
        select
        from audit aud
        where aud.app_id = $2
          and aud.operation = 'apps.delete'
      )
--> statement-breakpoint

    update service
    set value = $1
    where key = 'epoch'
      and value = $2
--> statement-breakpoint

    update service s
    set value = (
      s.value::jsonb || jsonb_build_object(
        'again', least((s.value::jsonb ->> 'again')::timestamptz, to_timestamp($1::float8))
      )
    )::text
    from webhooks wh
    where wh.id = $2
      and wh.app_id = $3
      and wh.enabled
      and wh.replay_since < to_timestamp($4::float8)
      and s.key = $5 || wh.id
--> statement-breakpoint

    update users
    set forgotten_at = null
    where app_id = $1
      and forgotten_at = 'infinity'
--> statement-breakpoint

    update users u
    set forgotten_at = clock_timestamp()
    where (u.app_id, u.id) in (
        select app_id, id
        from users
        where app_id = $1
          and id = any($2)
          and deleted_at is not null
          and forgotten_at is null
        order by id
        for no key update 
      )
      and not exists (
        select from members m
        where m.app_id = u.app_id
          and m.user_id = u.id
      )
      and not exists (
        select from former_members fm
        where fm.app_id = u.app_id
          and fm.user_id = u.id
      )
    returning u.id
--> statement-breakpoint

    update users u
    set forgotten_at = clock_timestamp()
    where (u.app_id, u.id) in (
        select app_id, id
        from users
        where app_id = $1
          and id = any($2)
          and deleted_at is not null
          and forgotten_at is null
        order by id
        for no key update skip locked
      )
      and not exists (
        select from members m
        where m.app_id = u.app_id
          and m.user_id = u.id
      )
      and not exists (
        select from former_members fm
        where fm.app_id = u.app_id
          and fm.user_id = u.id
      )
    returning u.id
--> statement-breakpoint

    update webhook_deliveries wd
    set status = 'pending', attempts = 0, next_attempt_at = now(), error = null
    where wd.id = $1::bigint
      and wd.app_id is not distinct from $2
      and wd.webhook_id in (
        select wh.id
        from webhooks wh
        where wh.id = $3
          and wh.app_id = $4
      )
    returning 
  wd.id::text as id, wd.event_type,
  wd.status, wd.attempts, wd.response_status, wd.error,
  case when wd.status in ('pending', 'retrying') then wd.next_attempt_at end as next_attempt_at,
  wd.created_at
--> statement-breakpoint

    update webhooks wh
    set replay_since = case
        when (
  wh.enabled
  and wh.replay_since is not null
  and exists (
    select
    from service s
    where s.key = $1 || wh.id
  )
) then wh.replay_since
        else least(wh.replay_since, to_timestamp($2::float8))
      end
    where wh.id = $3
      and wh.app_id = $4
      and to_timestamp($5::float8)
        between now() - $6 * interval '1 hour' and now()
    returning wh.replay_since <= to_timestamp($7::float8) as is_covered
--> statement-breakpoint

    update workspace_invite_uses wiu
    set app_id = wi.app_id
    from workspace_invites wi
    where wi.id = wiu.invite_id
      and wi.app_id = $1
      and wiu.app_id is null
      and wiu.user_id = any($2)
--> statement-breakpoint

    update workspace_invites
    set expires_at = now()
    where id = $1
      and workspace_id is not distinct from $2
      and expires_at > now()
--> statement-breakpoint

    update workspace_invites wi
    set expires_at = now()
    from 
    unnest($1::uuid[], $2::text[]) as given (workspace_id, user_id)
    where wi.workspace_id = given.workspace_id
      and wi.created_by = given.user_id
      and wi.expires_at > now()
--> statement-breakpoint

    update workspaces w
    set updated_at = clock_timestamp()
    where w.id = any($1::uuid[])
      and (
  select true
  from workspace_members wm
  where wm.workspace_id = w.id
  limit 1
) is null
--> statement-breakpoint

    with app as (
      insert into apps (id, name)
      values ($1, $2)
      returning created_at
    ),
    key as (
      insert into api_keys (id, app_id, hash)
      values ($3, $4, $5)
    )
    select created_at
    from app
--> statement-breakpoint

    with asked as materialized (
      select
        c.id as channel_id, given.user_id, c.last_seq, c.member_count,
        max(case when given.message_id is null then c.last_seq else msg.seq end) as read_seq,
        array_agg(given.ordinal::int) as ordinals
      from 
  unnest(
    $1::uuid[],
    $2::text[],
    $3::uuid[]
  ) with ordinality as given (channel_id, user_id, message_id, ordinal)
  left join channels c
    on c.id = given.channel_id
    and c.app_id is not distinct from $4
    and c.deleted_at is null
  left join messages msg
    on msg.id = given.message_id
    and msg.channel_id is not distinct from c.id
      where c.id is not null
        and (given.message_id is null or msg.id is not null)
      group by c.id, given.user_id
    ),
    before as materialized (
      select
        m.app_id, m.channel_id, m.user_id, m.last_read_seq as known_seq,
        asked.member_count, asked.ordinals,
        greatest(m.last_read_seq, asked.read_seq) as last_read_seq,
        greatest(m.unread_after_seq, asked.last_seq)
          as unread_after_seq
      from asked
      join members m on m.channel_id = asked.channel_id and m.user_id = asked.user_id
      for no key update of m 
    ),
    moved as (
      update members m
      set last_read_seq = before.last_read_seq, unread_after_seq = before.unread_after_seq
      from before
      where m.channel_id = before.channel_id
        and m.user_id = before.user_id
        and (m.last_read_seq, m.unread_after_seq)
          is distinct from (before.last_read_seq, before.unread_after_seq)
    ),
    marked as (
      insert into read_marks (app_id, channel_id, user_id, seq)
      select app_id, channel_id, user_id, last_read_seq
      from before
      where known_seq < last_read_seq
      on conflict do nothing
    )
    select
      before.channel_id, before.user_id, before.last_read_seq, before.unread_after_seq,
      (
  select msg.id
  from messages msg
  where msg.channel_id = before.channel_id
    and msg.seq >= before.last_read_seq
    and msg.seq <= before.last_read_seq
  order by msg.seq
  limit 1
) as last_read_message_id,
      coalesce(
        (
          select read_at
          from read_marks
          where channel_id = before.channel_id
            and user_id = before.user_id
            and seq = before.last_read_seq
        ),
        now()
      ) as read_at,
      before.member_count, before.ordinals
    from before
--> statement-breakpoint

    with asked as materialized (
      select
        c.id as channel_id, given.user_id, c.last_seq, c.member_count,
        max(case when given.message_id is null then c.last_seq else msg.seq end) as read_seq,
        array_agg(given.ordinal::int) as ordinals
      from 
  unnest(
    $1::uuid[],
    $2::text[],
    $3::uuid[]
  ) with ordinality as given (channel_id, user_id, message_id, ordinal)
  left join channels c
    on c.id = given.channel_id
    and c.app_id is not distinct from $4
    and c.deleted_at is null
  left join messages msg
    on msg.id = given.message_id
    and msg.channel_id is not distinct from c.id
      where c.id is not null
        and (given.message_id is null or msg.id is not null)
      group by c.id, given.user_id
    ),
    before as materialized (
      select
        m.app_id, m.channel_id, m.user_id, m.last_read_seq as known_seq,
        asked.member_count, asked.ordinals,
        greatest(m.last_read_seq, asked.read_seq) as last_read_seq,
        greatest(m.unread_after_seq, asked.last_seq)
          as unread_after_seq
      from asked
      join members m on m.channel_id = asked.channel_id and m.user_id = asked.user_id
      for no key update of m skip locked
    ),
    moved as (
      update members m
      set last_read_seq = before.last_read_seq, unread_after_seq = before.unread_after_seq
      from before
      where m.channel_id = before.channel_id
        and m.user_id = before.user_id
        and (m.last_read_seq, m.unread_after_seq)
          is distinct from (before.last_read_seq, before.unread_after_seq)
    ),
    marked as (
      insert into read_marks (app_id, channel_id, user_id, seq)
      select app_id, channel_id, user_id, last_read_seq
      from before
      where known_seq < last_read_seq
      on conflict do nothing
    )
    select
      before.channel_id, before.user_id, before.last_read_seq, before.unread_after_seq,
      (
  select msg.id
  from messages msg
  where msg.channel_id = before.channel_id
    and msg.seq >= before.last_read_seq
    and msg.seq <= before.last_read_seq
  order by msg.seq
  limit 1
) as last_read_message_id,
      coalesce(
        (
          select read_at
          from read_marks
          where channel_id = before.channel_id
            and user_id = before.user_id
            and seq = before.last_read_seq
        ),
        now()
      ) as read_at,
      before.member_count, before.ordinals
    from before
--> statement-breakpoint

    with asked as materialized (
      select
        c.id as channel_id, given.user_id, c.last_seq, c.member_count,
        max(case when given.message_id is null then c.last_seq else msg.seq end) as read_seq,
        array_agg(given.ordinal::int) as ordinals
      from 
  unnest(
    $1::uuid[],
    $2::text[],
    $3::uuid[]
  ) with ordinality as given (channel_id, user_id, message_id, ordinal)
  left join channels c
    on c.id = given.channel_id
    and c.app_id is not distinct from $4
    and c.deleted_at is null
  left join messages msg
    on msg.id = given.message_id
    and msg.channel_id is not distinct from c.id
      where c.id is not null
        and (given.message_id is null or msg.id is not null)
      group by c.id, given.user_id
    ),
    before as materialized (
      select
        m.app_id, m.channel_id, m.user_id, m.last_read_seq as known_seq,
        asked.member_count, asked.ordinals,
        greatest(m.last_read_seq, asked.read_seq) as last_read_seq,
        greatest(m.unread_after_seq, asked.read_seq)
          as unread_after_seq
      from asked
      join members m on m.channel_id = asked.channel_id and m.user_id = asked.user_id
      for no key update of m 
    ),
    moved as (
      update members m
      set last_read_seq = before.last_read_seq, unread_after_seq = before.unread_after_seq
      from before
      where m.channel_id = before.channel_id
        and m.user_id = before.user_id
        and (m.last_read_seq, m.unread_after_seq)
          is distinct from (before.last_read_seq, before.unread_after_seq)
    ),
    marked as (
      insert into read_marks (app_id, channel_id, user_id, seq)
      select app_id, channel_id, user_id, last_read_seq
      from before
      where known_seq < last_read_seq
      on conflict do nothing
    )
    select
      before.channel_id, before.user_id, before.last_read_seq, before.unread_after_seq,
      (
  select msg.id
  from messages msg
  where msg.channel_id = before.channel_id
    and msg.seq >= before.last_read_seq
    and msg.seq <= before.last_read_seq
  order by msg.seq
  limit 1
) as last_read_message_id,
      coalesce(
        (
          select read_at
          from read_marks
          where channel_id = before.channel_id
            and user_id = before.user_id
            and seq = before.last_read_seq
        ),
        now()
      ) as read_at,
      before.member_count, before.ordinals
    from before
--> statement-breakpoint

    with before as (
      select
        count(*)::int as pins,
        coalesce(bool_or(message_id = $1), false) as is_pinned
      from pins
      where channel_id = $2
    ),
    pinned as (
      insert into pins (app_id, channel_id, message_id, pinned_by, pinned_at)
      select $3, $4, $5, $6, clock_timestamp()
      from before
      where not is_pinned
        and pins < $7
    )
    select *
    from before
--> statement-breakpoint

    with before as (
      select
        count(distinct emoji)::int as kinds,
        coalesce(bool_or(emoji = $1), false) as is_known,
        coalesce(bool_or(emoji = $2 and user_id = $3), false) as is_own
      from reactions
      where message_id = $4
    ),
    added as (
      insert into reactions (app_id, message_id, emoji, user_id, created_at)
      select $5, $6, $7, $8, clock_timestamp()
      from before
      where not is_own
        and (is_known or kinds < $9)
    )
    select *
    from before
--> statement-breakpoint

    with deleted as (
      select *
      from jsonb_to_recordset($1) as tombstone (
        id uuid, rev int, "createdRev" int, "replyCount" int, "deletedAt" timestamptz, envelope text
      )
    ),
    reactions as (
      delete from reactions
      where message_id = any($2::uuid[])
    ),
    pins as (
      delete from pins
      where message_id = any($3::uuid[])
    ),
    streams as (
      delete from message_streams
      where message_id = any($4::uuid[])
    ),
    counts as (
      insert into tombstone_counts as tc (app_id, channel_id, user_id, part, count)
      select msg.app_id, msg.channel_id, author.id, msg.seq / $5::int, count(*)
      from deleted
      join messages msg on msg.id = deleted.id and msg.id = any($6::uuid[])
      cross join lateral (values (msg.user_id), ($7)) as author (id)
      where msg.silent is not true
      group by 1, 2, 3, 4
      on conflict (channel_id, user_id, part) do update
      set count = tc.count + excluded.count
    ),
    events as (
      update events e
      set type = 'message.deleted', envelope = deleted.envelope
      from deleted
      where e.message_id = deleted.id
        and e.message_id = any($8::uuid[])
        and ascii(e.envelope) <> 14
    ),
    created as (
      update events e
      set type = 'message.deleted', envelope = deleted.envelope
      from deleted
      where e.topic = $9
        and e."offset" = any($10::int[])
        and e."offset" = deleted."createdRev"
        and e.message_id is not distinct from deleted.id
        and not ascii(e.envelope) <> 14
    ),
    quotes as (
      update events e
      set envelope = jsonb_set(
        e.envelope::jsonb,
        '{payload,message,quotedMessage}',
        e.envelope::jsonb #> '{payload,message,quotedMessage}' || jsonb_build_object(
          'rev', deleted.rev, 'text', '', 'attachmentCount', 0, 'attachmentType', null,
          'deletedAt', deleted."deletedAt"
        ) || case
          when author.deleted_at is null then '{}'
          else jsonb_build_object('user', jsonb_build_object('id', author.id, 'name', author.display_name, 'image', author.image))
        end
      )::text
      from deleted
      join messages quoted on quoted.id = deleted.id and quoted.id = any($11::uuid[])
      join users author
        on author.app_id = quoted.app_id
        and author.id = quoted.user_id
      join messages msg on msg.quoted_id = deleted.id and msg.quoted_id = any($12::uuid[])
      where e.message_id = msg.id
        and e.type in ('message.new', 'message.updated')
        and ascii(e.envelope) <> 14
        and msg.id not in (select id from deleted)
    ),
    threads as (
      update messages msg
      set reply_count = thread."replyCount", rev = thread.rev
      from jsonb_to_recordset($13) as thread (
        id uuid, "replyCount" int, rev int
      )
      where msg.id = thread.id
        and msg.id = any($14::uuid[])
        and thread.id not in (select id from deleted)
    )
    update messages msg
    set
      text = '', mentions = '{}', attachments = '[]', link_previews = null, custom = null,
      streaming = null, interrupted = null,
      rev = deleted.rev, reply_count = deleted."replyCount",
      updated_at = deleted."deletedAt", deleted_at = deleted."deletedAt"
    from deleted
    where msg.id = deleted.id
      and msg.id = any($15::uuid[])
--> statement-breakpoint

    with discarded as (
      delete from app_imports
      where app_id::text = lower($1)
      returning app_id
    )
    update apps a
    set deleted_at = '-infinity'
    from discarded
    where a.id = discarded.app_id
      and a.deleted_at = 'infinity'
--> statement-breakpoint

    with due as (
      delete from imported_rows
      where app_id = $1
        and record = 'refresh'
        and key = any(array(
          select ir.key
          from imported_rows ir
          where ir.app_id = $2
            and ir.record = 'refresh'
          order by ir.key
          limit $3
        ))
      returning key
    )
    insert into user_streams as us (app_id, user_id, last_offset)
    select $4, due.key, 1
    from due
    order by due.key
    on conflict (app_id, user_id) do update set last_offset = us.last_offset + 1
--> statement-breakpoint

    with due as (
      select u.app_id, u.id, coalesce(u.last_active_at >= date_trunc('day', now(), 'UTC'), false) as was_active
      from users u
      join unnest($1::uuid[], $2::text[]) as given (app_id, user_id)
        on given.app_id = u.app_id and given.user_id = u.id
      where u.deleted_at is null
        and (
          u.last_active_at is null
          or u.last_active_at < now() - $3 * interval '1 millisecond'
        )
      for no key update of u skip locked
    ),
    counted as (
      
  insert into active_users as au (app_id, day, count)
  select added.app_id, (now() at time zone 'UTC')::date, added.count
  from (
          select due.app_id, count(*)
          from due
          where not due.was_active
          group by due.app_id) added
  order by added.app_id
  on conflict (app_id, day) do update
  set count = au.count + excluded.count
    )
    update users u
    set last_active_at = now()
    from due
    where u.app_id = due.app_id and u.id = due.id
--> statement-breakpoint

    with due as materialized (
      select unset.*
      from unnest($1::uuid[]) as given (id)
      cross join lateral (
        select m.channel_id, m.user_id, c.last_seq
        from members m
        join channels c on c.id = m.channel_id
        where m.channel_id = given.id
          and m.unread_after_seq = $2
          and m.app_id is not distinct from $3
        limit $4
      ) unset
      limit $5
    ),
    noted as (
      insert into imported_rows (app_id, record, key, channel_id, line, "row")
      select distinct on (due.user_id)
        $6::uuid, 'refresh', due.user_id, due.channel_id, 0, '{}'::jsonb
      from due
      order by due.user_id
      on conflict do nothing
    )
    update members m
    set unread_after_seq = due.last_seq
    from due
    where m.channel_id = due.channel_id
      and m.user_id = due.user_id
--> statement-breakpoint

    with due as materialized (
  select ir.*
  from unnest($1::uuid[]) as given (id)
  cross join lateral (
    select *
    from imported_rows ir
    where ir.channel_id = given.id
      and ir.record = $2
      and ir.app_id is not distinct from $3
    order by ir.created_at, ir.position
    limit $4
  ) ir
  limit $5),
    taken as (
  delete from imported_rows
  where app_id = $6
    and record = $7
    and key = any(array(select due.key from due))),
    judged as materialized (
      select
        due.*, msg.id as message_id, due."row" ->> 'emoji' as emoji, u.id as user_id,
        msg.deleted_at is null and u.deleted_at is null as is_possible,
        existing.is_known,
        existing.kinds + dense_rank() over (
          partition by msg.id, existing.is_known, u.deleted_at
          order by due."row" ->> 'emoji'
        ) as kinds
      from due
      join messages msg on msg.id = (due."row" ->> 'messageId')::uuid
      join users u on u.app_id = $8 and u.id = due."row" ->> 'userId'
      cross join lateral (
        select
          count(distinct r.emoji) as kinds,
          coalesce(bool_or(r.emoji = due."row" ->> 'emoji'), false) as is_known
        from reactions r
        where r.message_id = msg.id
      ) existing
    ),
    stored as (
      insert into reactions (app_id, message_id, emoji, user_id, created_at)
      select $9, message_id, emoji, user_id, created_at
      from judged
      where is_possible
        and (is_known or kinds <= $10)
      on conflict do nothing
    ),
    former as (
      insert into former_members (app_id, channel_id, user_id)
      select distinct $11::uuid, judged.channel_id, judged.user_id
      from judged
      where is_possible
        and not exists (
          select
          from members m
          where m.channel_id = judged.channel_id
            and m.user_id = judged.user_id
        )
      on conflict do nothing
    )
    select
      line,
      is_possible and (is_known or kinds <= $12) as is_stored,
      not is_possible as is_gone
    from judged
--> statement-breakpoint

    with due as materialized (
  select ir.*
  from unnest($1::uuid[]) as given (id)
  cross join lateral (
    select *
    from imported_rows ir
    where ir.channel_id = given.id
      and ir.record = $2
      and ir.app_id is not distinct from $3
    order by ir.created_at, ir.position
    limit $4
  ) ir
  limit $5),
    taken as (
  delete from imported_rows
  where app_id = $6
    and record = $7
    and key = any(array(select due.key from due))),
    judged as materialized (
      select
        due.*, msg.id as message_id, msg.deleted_at is not null as is_gone,
        msg.deleted_at is null
          and existing.pins + row_number() over (
            partition by due.channel_id, msg.deleted_at is null
            order by due.created_at, due.position
          ) <= $8 as is_stored
      from due
      join messages msg on msg.id = due.key::uuid
      cross join lateral (
        select count(*) as pins
        from pins p
        where p.channel_id = due.channel_id
      ) existing
    ),
    stored as (
      insert into pins (app_id, channel_id, message_id, pinned_by, pinned_at)
      select $9, channel_id, message_id, "row" ->> 'userId', created_at
      from judged
      where is_stored
      on conflict do nothing
    )
    select line, is_stored, is_gone
    from judged
--> statement-breakpoint

    with due as materialized (
  select ir.*
  from unnest($1::uuid[]) as given (id)
  cross join lateral (
    select *
    from imported_rows ir
    where ir.channel_id = given.id
      and ir.record = $2
      and ir.app_id is not distinct from $3
    order by ir.created_at, ir.position
    limit $4
  ) ir
  limit $5),
    taken as (
  delete from imported_rows
  where app_id = $6
    and record = $7
    and key = any(array(select due.key from due))),
    position as materialized (
      select due.channel_id, due."row" ->> 'userId' as user_id, msg.seq, due.created_at, due.line
      from due
      join messages msg on msg.id = (due."row" ->> 'messageId')::uuid
    ),
    moved as (
      update members m
      set last_read_seq = position.seq, unread_after_seq = position.seq
      from position
      where m.channel_id = position.channel_id
        and m.user_id = position.user_id
      returning m.channel_id, m.user_id
    ),
    marked as (
      insert into read_marks (app_id, channel_id, user_id, seq, read_at)
      select $8, position.channel_id, position.user_id, position.seq, position.created_at
      from position
      join moved using (channel_id, user_id)
      on conflict do nothing
    )
    select line, true as is_stored, false as is_gone
    from position
--> statement-breakpoint

    with forgotten as (
      delete from service
      where key in (
        select $1 || wh.id
        from webhooks wh
        where wh.id = $2
          and wh.app_id = $3
      )
    )
    delete from webhooks
    where id = $4
      and app_id = $5
    returning id
--> statement-breakpoint

    with found as materialized (
      select ctid 
      from "connections"
      where "app_id" = $1
        
        
      
      limit $2
      
    ),
    deleted as (
      delete from "connections"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array() as last
    from found
    
    limit 1
--> statement-breakpoint

    with found as materialized (
      select ctid 
      from "devices"
      where "app_id" = $1
        
        
      
      limit $2
      
    ),
    deleted as (
      delete from "devices"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array() as last
    from found
    
    limit 1
--> statement-breakpoint

    with found as materialized (
      select ctid 
      from "imported_rows"
      where "channel_id" = $1
        
        
      
      limit $2
      
    ),
    deleted as (
      delete from "imported_rows"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array() as last
    from found
    
    limit 1
--> statement-breakpoint

    with found as materialized (
      select ctid 
      from "webhook_deliveries"
      where "app_id" = $1
        
        
      
      limit $2
      
    ),
    deleted as (
      delete from "webhook_deliveries"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array() as last
    from found
    
    limit 1
--> statement-breakpoint

    with found as materialized (
      select ctid 
      from "workspace_members"
      where "app_id" = $1
        
        
      
      limit $2
      
    ),
    deleted as (
      delete from "workspace_members"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array() as last
    from found
    
    limit 1
--> statement-breakpoint

    with found as materialized (
      select ctid 
      from "workspaces"
      where "app_id" = $1
        
        
      
      limit $2
      
    ),
    deleted as (
      delete from "workspaces"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array() as last
    from found
    
    limit 1
--> statement-breakpoint

    with found as materialized (
      select ctid , "offset"
      from "events"
      where "topic" = $1
        
        
      order by "offset"
      limit $2
      
    ),
    deleted as (
      delete from "events"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array("offset") as last
    from found
    order by "offset" desc
    limit 1
--> statement-breakpoint

    with found as materialized (
      select ctid , "offset"
      from "events"
      where "topic" = $1
        
        and ("offset") > ($2)
      order by "offset"
      limit $3
      
    ),
    deleted as (
      delete from "events"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array("offset") as last
    from found
    order by "offset" desc
    limit 1
--> statement-breakpoint

    with found as materialized (
      select ctid , "offset"
      from "events"
      where "topic" = $1
        and type <> $2
        
      order by "offset"
      limit $3
      
    ),
    deleted as (
      delete from "events"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array("offset") as last
    from found
    order by "offset" desc
    limit 1
--> statement-breakpoint

    with found as materialized (
      select ctid , "offset"
      from "events"
      where "topic" = $1
        and type <> $2
        and ("offset") > ($3)
      order by "offset"
      limit $4
      
    ),
    deleted as (
      delete from "events"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array("offset") as last
    from found
    order by "offset" desc
    limit 1
--> statement-breakpoint

    with found as materialized (
      select ctid , seq
      from "messages"
      where "channel_id" = $1
        
        
      order by seq
      limit $2
      for update skip locked
    ),
    deleted as (
      delete from "messages"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array(seq) as last
    from found
    order by seq desc
    limit 1
--> statement-breakpoint

    with found as materialized (
      select ctid , seq
      from "messages"
      where "channel_id" = $1
        
        and (seq) > ($2)
      order by seq
      limit $3
      for update skip locked
    ),
    deleted as (
      delete from "messages"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array(seq) as last
    from found
    order by seq desc
    limit 1
--> statement-breakpoint

    with found as materialized (
      select ctid , url_hash
      from "link_previews"
      where "app_id" = $1
        
        
      order by url_hash
      limit $2
      
    ),
    deleted as (
      delete from "link_previews"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array(url_hash) as last
    from found
    order by url_hash desc
    limit 1
--> statement-breakpoint

    with found as materialized (
      select ctid , user_id
      from "former_members"
      where "channel_id" = $1
        
        
      order by user_id
      limit $2
      
    ),
    deleted as (
      delete from "former_members"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array(user_id) as last
    from found
    order by user_id desc
    limit 1
--> statement-breakpoint

    with found as materialized (
      select ctid , user_id
      from "former_members"
      where "channel_id" = $1
        
        and (user_id) > ($2)
      order by user_id
      limit $3
      
    ),
    deleted as (
      delete from "former_members"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array(user_id) as last
    from found
    order by user_id desc
    limit 1
--> statement-breakpoint

    with found as materialized (
      select ctid , user_id
      from "members"
      where "channel_id" = $1
        
        
      order by user_id
      limit $2
      for update skip locked
    ),
    deleted as (
      delete from "members"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array(user_id) as last
    from found
    order by user_id desc
    limit 1
--> statement-breakpoint

    with found as materialized (
      select ctid , user_id
      from "members"
      where "channel_id" = $1
        
        and (user_id) > ($2)
      order by user_id
      limit $3
      for update skip locked
    ),
    deleted as (
      delete from "members"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array(user_id) as last
    from found
    order by user_id desc
    limit 1
--> statement-breakpoint

    with found as materialized (
      select ctid , user_id, part
      from "tombstone_counts"
      where "channel_id" = $1
        
        
      order by user_id, part
      limit $2
      
    ),
    deleted as (
      delete from "tombstone_counts"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array(user_id, part) as last
    from found
    order by user_id desc, part desc
    limit 1
--> statement-breakpoint

    with found as materialized (
      select ctid , user_id, seq
      from "read_marks"
      where "channel_id" = $1
        
        
      order by user_id, seq
      limit $2
      
    ),
    deleted as (
      delete from "read_marks"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array(user_id, seq) as last
    from found
    order by user_id desc, seq desc
    limit 1
--> statement-breakpoint

    with found as materialized (
      select ctid , user_id, seq
      from "read_marks"
      where "channel_id" = $1
        
        and (user_id, seq) > ($2, $3)
      order by user_id, seq
      limit $4
      
    ),
    deleted as (
      delete from "read_marks"
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array(user_id, seq) as last
    from found
    order by user_id desc, seq desc
    limit 1
--> statement-breakpoint

    with given as (
      select $1::jsonb as drafts
    ),
    before as (
      select existing.*
      from unnest($2::text[]) as given_id
      cross join lateral (
        select *
        from users
        where app_id = $3
          and id = given_id
          and deleted_at is null
        limit 1
      ) existing
    )
    insert into users as u (
      app_id, id,
      name, email, image,
      custom,
      last_active_at
    )
    select
      $4, key,
      value ->> 'name', value ->> 'email', value ->> 'image',
      coalesce(nullif(value -> 'custom', 'null'), '{}'),
      case when value ? 'isActive' then now() end
    from given, jsonb_each(drafts)
    order by key
    on conflict (app_id, id) do update set
      name = case when (u.deleted_at is not null or (select drafts from given) -> u.id ? $5) then excluded.name else u.name end,
      email = case when (u.deleted_at is not null or (select drafts from given) -> u.id ? $6) then excluded.email else u.email end,
      image = case when (u.deleted_at is not null or (select drafts from given) -> u.id ? $7) then excluded.image else u.image end,
      custom = case when (u.deleted_at is not null or (select drafts from given) -> u.id ? $8) then excluded.custom else u.custom end,
      last_active_at = coalesce(excluded.last_active_at, u.last_active_at),
      created_at = case when u.deleted_at is null then u.created_at else now() end,
      updated_at = case when u.deleted_at is null then clock_timestamp() else now() end,
      profile_changed_at = case
        when u.deleted_at is null
          and (
            ((u.deleted_at is not null or (select drafts from given) -> u.id ? $9) and coalesce(excluded.name, u.id) <> u.display_name)
            or ((u.deleted_at is not null or (select drafts from given) -> u.id ? $10) and excluded.image is distinct from u.image)
          )
        then greatest(clock_timestamp(), u.profile_changed_at + interval '1 microsecond')
        else u.profile_changed_at
      end,
      reused_at = case when u.deleted_at is null then u.reused_at else now() end,
      deleted_at = null,
      forgotten_at = null
    where u.deleted_at is null
      or u.forgotten_at is not null
    returning
      id, display_name as name, image, email, custom, token_generation,
      created_at = updated_at as is_new,
      exists (
        select from before
        where before.id = u.id
          and before.last_active_at >= date_trunc('day', now(), 'UTC')
      ) as was_active,
      exists (
        select from before
        where before.id = u.id
          and (before.display_name, before.image) is distinct from (u.display_name, u.image)
      ) as has_profile_changed,
      coalesce(extract(epoch from u.profile_changed_at) * 1000000, 0)::float8 as profile_version,
      u.last_active_at is not null
        and not exists (
          select from before
          where before.id = u.id
            and before.last_active_at is not null
            and (before.name, before.email, before.image)
              is not distinct from (u.name, u.email, u.image)
        ) as needs_provider_sync
--> statement-breakpoint

    with given as materialized (
      select *
      from unnest($1::uuid[], $2::int[]) as given (id, line)
    ),
    touched as (
      update channels c
      set updated_at = now()
      from given
      where c.id = given.id
        and c.app_id is not distinct from $3
        and c.deleted_at = 'infinity'
    )
    insert into imported_rows (app_id, record, key, channel_id, line, "row")
    select
      $4::uuid, 'channel', given.id::text, given.id, given.line,
      jsonb_build_object('runId', $5::text)
    from given
    order by given.id
    on conflict (app_id, record, key) do update
    set line = excluded.line, "row" = excluded."row"
--> statement-breakpoint

    with given as materialized (
      select app_id, user_id, index::int
      from unnest($1::uuid[], $2::text[])
        with ordinality as given (app_id, user_id, index)
    ),
    shared as materialized (
      select small.channel_id, array_agg(given.index) as indexes
      from given
      cross join lateral (
        select own.channel_id
        from (
          select m.channel_id
          from members m
          where m.app_id = given.app_id
            and m.user_id = given.user_id
          limit $3
        ) own
        where (
          select c.deleted_at is null and not (c.member_count > $4)
          from channels c
          where c.id = own.channel_id
        )
        limit $5
      ) small
      group by small.channel_id
    ),
    receivers as (
      select shared.indexes, m.app_id, m.user_id, m.channel_id
      from shared
      join members m on m.channel_id = shared.channel_id
      union all
      select array[index], app_id, user_id, null
      from given
    )
    select receivers.indexes, con.node_id, array_agg(receivers.user_id) as user_ids
    from receivers
    cross join lateral (
  select node_id
  from connections
  where app_id = receivers.app_id
    and user_id = receivers.user_id
    
  offset 0
) con
    group by receivers.channel_id, receivers.indexes, con.node_id
--> statement-breakpoint

    with given as materialized (
      select app_id, user_id, index::int
      from unnest($1::uuid[], $2::text[])
        with ordinality as given (app_id, user_id, index)
    ),
    shared as materialized (
      select small.channel_id, array_agg(given.index) as indexes
      from given
      cross join lateral (
        select own.channel_id
        from (
          select m.channel_id
          from members m
          where m.app_id = given.app_id
            and m.user_id = given.user_id
          limit $3
        ) own
        where (
          select c.deleted_at is null and not (c.member_count > $4)
          from channels c
          where c.id = own.channel_id
        )
        limit $5
      ) small
      group by small.channel_id
    ),
    receivers as (
      select shared.indexes, m.app_id, m.user_id, m.channel_id
      from shared
      join members m on m.channel_id = shared.channel_id
      union all
      select array[index], app_id, user_id, null
      from given
    )
    select receivers.indexes, con.node_id, array_agg(receivers.user_id) as user_ids
    from receivers
    cross join lateral (
  select node_id
  from connections
  where app_id = receivers.app_id
    and user_id = receivers.user_id
    and node_id = $6
  offset 0
) con
    group by receivers.channel_id, receivers.indexes, con.node_id
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "active_users" as "au" ("app_id","day","count")
      select r."app_id", r."day", r."count"
      from given
      cross join lateral jsonb_populate_record(null::"active_users", given.row) r
      returning (to_jsonb(au)) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "api_keys" as "ak" ("id","app_id","hash","created_at","name","scopes","expires_at","last_used_at")
      select r."id", r."app_id", r."hash", r."created_at", r."name", r."scopes", r."expires_at", r."last_used_at"
      from given
      cross join lateral jsonb_populate_record(null::"api_keys", given.row) r
      returning (to_jsonb(ak)) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "apps" as "a" ("id","name","created_at","disabled_at","deleted_at","message_retention_days","user_admin_access","rate_limits")
      select r."id", r."name", r."created_at", r."disabled_at", 'infinity', r."message_retention_days", r."user_admin_access", r."rate_limits"
      from given
      cross join lateral jsonb_populate_record(null::"apps", given.row) r
      returning (to_jsonb(a) || jsonb_build_object('deleted_at', null)) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "audit" as "aud" ("created_at","app_id","actor","key_id","user_id","operation","target","request_id")
      select r."created_at", r."app_id", r."actor", r."key_id", r."user_id", r."operation", r."target", r."request_id"
      from given
      cross join lateral jsonb_populate_record(null::"audit", given.row) r
      returning (to_jsonb(aud)) - 'id' as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "channels" as "c" ("id","app_id","cid","type","name","image","description","workspace_id","created_by","client_id","dm_key","last_seq","rev","member_count","last_activity_at","created_at","updated_at","deleted_at","active_hour","custom","frozen")
      select r."id", r."app_id", r."cid", r."type", r."name", r."image", r."description", r."workspace_id", r."created_by", r."client_id", r."dm_key", r."last_seq", r."rev", r."member_count", r."last_activity_at", r."created_at", r."updated_at", r."deleted_at", r."active_hour", r."custom", r."frozen"
      from given
      cross join lateral jsonb_populate_record(null::"channels", given.row) r
      returning (to_jsonb(c)) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "devices" as "d" ("id","app_id","user_id","platform","provider","token","device_id","app_version","created_at","updated_at")
      select r."id", r."app_id", r."user_id", r."platform", r."provider", r."token", r."device_id", r."app_version", r."created_at", r."updated_at"
      from given
      cross join lateral jsonb_populate_record(null::"devices", given.row) r
      returning (to_jsonb(d)) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "former_members" as "fm" ("app_id","channel_id","user_id")
      select r."app_id", r."channel_id", r."user_id"
      from given
      cross join lateral jsonb_populate_record(null::"former_members", given.row) r
      returning (to_jsonb(fm)) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "members" as "m" ("app_id","channel_id","user_id","role","last_read_seq","unread_after_seq","starred","muted","joined_at","custom")
      select r."app_id", r."channel_id", r."user_id", r."role", r."last_read_seq", r."unread_after_seq", r."starred", r."muted", r."joined_at", r."custom"
      from given
      cross join lateral jsonb_populate_record(null::"members", given.row) r
      returning (to_jsonb(m)) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "messages" as "msg" ("id","app_id","channel_id","user_id","seq","rev","text","mentions","attachments","link_previews","parent_id","reply_count","client_id","created_at","updated_at","edited_at","deleted_at","author_seq","custom","type","silent","streaming","interrupted","quoted_id","created_rev")
      select r."id", r."app_id", r."channel_id", r."user_id", r."seq", r."rev", r."text", r."mentions", r."attachments", r."link_previews", r."parent_id", r."reply_count", r."client_id", r."created_at", r."updated_at", r."edited_at", r."deleted_at", r."author_seq", r."custom", r."type", r."silent", r."streaming", r."interrupted", r."quoted_id", r."created_rev"
      from given
      cross join lateral jsonb_populate_record(null::"messages", given.row) r
      returning (to_jsonb(msg)) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "pins" as "p" ("app_id","channel_id","message_id","pinned_by","pinned_at")
      select r."app_id", r."channel_id", r."message_id", r."pinned_by", r."pinned_at"
      from given
      cross join lateral jsonb_populate_record(null::"pins", given.row) r
      returning (to_jsonb(p)) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "preferences" as "pref" ("app_id","user_id","chosen","updated_at")
      select r."app_id", r."user_id", r."chosen", r."updated_at"
      from given
      cross join lateral jsonb_populate_record(null::"preferences", given.row) r
      returning (to_jsonb(pref)) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "reactions" as "r" ("app_id","message_id","emoji","user_id","created_at")
      select r."app_id", r."message_id", r."emoji", r."user_id", r."created_at"
      from given
      cross join lateral jsonb_populate_record(null::"reactions", given.row) r
      returning (to_jsonb(r)) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "read_marks" as "rm" ("app_id","channel_id","user_id","seq","read_at")
      select r."app_id", r."channel_id", r."user_id", r."seq", r."read_at"
      from given
      cross join lateral jsonb_populate_record(null::"read_marks", given.row) r
      returning (to_jsonb(rm)) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "tombstone_counts" as "tc" ("app_id","channel_id","user_id","part","count")
      select r."app_id", r."channel_id", r."user_id", r."part", r."count"
      from given
      cross join lateral jsonb_populate_record(null::"tombstone_counts", given.row) r
      returning (to_jsonb(tc)) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "user_streams" as "us" ("app_id","user_id","last_offset")
      select r."app_id", r."user_id", r."last_offset"
      from given
      cross join lateral jsonb_populate_record(null::"user_streams", given.row) r
      returning (to_jsonb(us)) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "users" as "u" ("app_id","id","name","email","image","custom","token_generation","last_active_at","created_at","updated_at","deleted_at","forgotten_at","profile_changed_at","reused_at")
      select r."app_id", r."id", r."name", r."email", r."image", r."custom", r."token_generation", r."last_active_at", r."created_at", r."updated_at", r."deleted_at", case when r.deleted_at is null then null else coalesce(r.forgotten_at, 'infinity') end, r."profile_changed_at", r."reused_at"
      from given
      cross join lateral jsonb_populate_record(null::"users", given.row) r
      returning (to_jsonb(u) || jsonb_build_object('forgotten_at', nullif(u.forgotten_at, 'infinity'))) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "webhooks" as "wh" ("id","app_id","url","events","description","enabled","active_since","disabled_reason","failing_since","secret","previous_secret","previous_secret_expires_at","replay_since","leased_by","leased_until","created_at")
      select r."id", r."app_id", r."url", r."events", r."description", r."enabled", r."active_since", r."disabled_reason", r."failing_since", r."secret", r."previous_secret", r."previous_secret_expires_at", r."replay_since", r."leased_by", r."leased_until", r."created_at"
      from given
      cross join lateral jsonb_populate_record(null::"webhooks", given.row) r
      returning (to_jsonb(wh)) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "workspace_invite_uses" as "wiu" ("invite_id","user_id","used_at","app_id")
      select r."invite_id", r."user_id", r."used_at", r."app_id"
      from given
      cross join lateral jsonb_populate_record(null::"workspace_invite_uses", given.row) r
      returning (to_jsonb(wiu)) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "workspace_invites" as "wi" ("id","app_id","workspace_id","token_hash","role","max_uses","uses","created_by","created_at","expires_at")
      select r."id", r."app_id", r."workspace_id", r."token_hash", r."role", r."max_uses", r."uses", r."created_by", r."created_at", r."expires_at"
      from given
      cross join lateral jsonb_populate_record(null::"workspace_invites", given.row) r
      returning (to_jsonb(wi)) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "workspace_members" as "wm" ("app_id","workspace_id","user_id","role","joined_at")
      select r."app_id", r."workspace_id", r."user_id", r."role", r."joined_at"
      from given
      cross join lateral jsonb_populate_record(null::"workspace_members", given.row) r
      returning (to_jsonb(wm)) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with given as materialized (
      select line::jsonb as row
      from unnest($1::text[]) as given (line)
    ),
    stored as (
      insert into "workspaces" as "w" ("id","app_id","name","type","image","created_by","created_at","updated_at")
      select r."id", r."app_id", r."name", r."type", r."image", r."created_by", r."created_at", r."updated_at"
      from given
      cross join lateral jsonb_populate_record(null::"workspaces", given.row) r
      returning (to_jsonb(w)) as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same
--> statement-breakpoint

    with joined as (
      insert into members (app_id, channel_id, user_id, role, unread_after_seq, custom)
      select
        $1, $2, given.user_id, given.role, $3,
        given.custom::jsonb
      from unnest($4::text[], $5::text[], $6::text[])
        as given (user_id, role, custom)
      on conflict do nothing
      returning user_id, joined_at
    ),
    counted as (
      update channels
      set member_count = member_count + (select count(*) from joined)
      where id = $7
    )
    select *
    from joined
--> statement-breakpoint

    with located as (
      select
        given.topic, given.frame, given.index,
        c.type, m.role, wm.role as workspace_role, c.member_count, s.value as epoch,
        case
          when given.channel_id is null then coalesce(us.last_offset, 0)
          else c.rev
        end as last_offset,
        case when given.channel_id is null or (
  m.user_id is not null
  or c.type in ('public', 'livestream')
  or (c.type = 'team' and wm.user_id is not null)
) then given.since end as since
      from unnest(
        $1::text[], $2::uuid[],
        $3::uuid[], $4::text[],
        $5::int[], $6::int[]
      ) with ordinality as given (topic, channel_id, app_id, user_id, since, frame, index)
      join service s on s.key = 'epoch'
      left join channels c
        on c.id = given.channel_id and c.app_id = given.app_id and c.deleted_at is null
      left join members m on m.channel_id = c.id and m.user_id = given.user_id
      left join workspace_members wm
        on wm.workspace_id = c.workspace_id and wm.user_id = given.user_id
      left join user_streams us
        on given.channel_id is null
        and us.app_id = given.app_id
        and us.user_id = given.user_id
    ),
    counted as (
      select
        *,
        sum(greatest(last_offset - since, 0)) over (partition by frame order by index) as missing
      from located
    ),
    bounded as (
      select
        *,
        sum(greatest(last_offset - since, 0))
          filter (where missing <= $7)
          over (order by index) as all_missing
      from counted
    ),
    measured as (
      select
        bounded.*,
        size.bytes::int as bytes,
        sum(size.bytes) over (partition by bounded.frame order by bounded.index) as missing_bytes
      from bounded
      left join lateral (
        select total.bytes
        from (
          select
            sum(octet_length(e.envelope)
    + case when e.type = 'message.new' then $8::int else 0 end) over passed as bytes,
            lead(e."offset") over passed is null as is_last
          from events e
          where e.topic = bounded.topic
            and e."offset" > bounded.since
            and e."offset" <= bounded.last_offset
            and bounded.missing <= $9
            and bounded.all_missing <= $10
          window passed as (order by e."offset" rows unbounded preceding)
        ) total
        where total.is_last or total.bytes > $11
        limit 1
      ) size on true
    ),
    added as (
      select
        *,
        sum(bytes)
          filter (where missing_bytes <= $12)
          over (order by index) as all_bytes,
        sum(greatest(last_offset - since, 0))
          filter (
            where missing <= $13
              and missing_bytes <= $14
          )
          over (order by index) as all_read
      from measured
    ),
    requested as (
      select
        *,
        coalesce(
          bool_or(
            last_offset > since
            and missing <= $15
            and (
              all_missing > $16
              or (
                missing_bytes <= $17
                and (all_read > $18 or all_bytes > $19)
              )
            )
          ) over (partition by frame),
          false
        ) as is_postponed
      from added
    )
    select
      requested.type, requested.role, requested.workspace_role, requested.member_count,
      requested.epoch, requested.last_offset,
      requested.bytes, requested.is_postponed,
      missed.missed
    from requested
    left join lateral (
      select
        json_agg(
          json_build_array(e."offset", e.type, e.envelope, e.message_id)
          order by e."offset"
        ) as missed
      from events e
      where e.topic = requested.topic
        and e."offset" > requested.since
        and e."offset" <= requested.last_offset
        and requested.missing <= $20
        and requested.missing_bytes <= $21
        and not requested.is_postponed
    ) missed on true
    order by requested.index
--> statement-breakpoint

    with markers as (
    update members m
    set
      last_read_seq = greatest(m.last_read_seq, marker.last_read_seq),
      unread_after_seq = greatest(m.unread_after_seq, marker.unread_after_seq)
    from unnest(
      $1::uuid[], $2::text[], $3::int[], $4::int[]
    ) as marker (channel_id, user_id, last_read_seq, unread_after_seq)
    where m.channel_id = marker.channel_id
      and m.user_id = marker.user_id)
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, created_rev, author_seq,
      text, mentions, attachments, custom,
      type, silent, streaming,
      parent_id, quoted_id, client_id,
      created_at, updated_at
    )
    select
      id, $5::uuid, channel_id, user_id, seq, rev, rev, author_seq,
      text, mentions::text[], attachments::jsonb, custom::jsonb,
      type, silent = 1, streaming = 1,
      parent_id, quoted_id, client_id,
      created_at, created_at
    from unnest(
      $6::uuid[],
      $7::uuid[],
      $8::text[],
      $9::int[],
      $10::int[],
      $11::int[],
      $12::text[],
      $13::text[],
      $14::text[],
      $15::text[],
      $16::text[],
      $17::int[],
      $18::int[],
      $19::uuid[],
      $20::uuid[],
      $21::text[],
      $22::timestamptz[]
    ) as message (
      id, channel_id, user_id, seq, rev, author_seq,
      text, mentions, attachments, custom, type, silent, streaming,
      parent_id, quoted_id, client_id, created_at
    )
--> statement-breakpoint

    with markers as (
    update members m
    set
      last_read_seq = greatest(m.last_read_seq, marker.last_read_seq),
      unread_after_seq = greatest(m.unread_after_seq, marker.unread_after_seq)
    from unnest(
      $1::uuid[], $2::text[], $3::int[], $4::int[]
    ) as marker (channel_id, user_id, last_read_seq, unread_after_seq)
    where m.channel_id = marker.channel_id
      and m.user_id = marker.user_id), silent as (
    insert into tombstone_counts as tc (app_id, channel_id, user_id, part, count)
    select given.app_id, given.channel_id, author.id, given.seq / $5::int, count(*)
    from unnest($6::uuid[], $7::uuid[], $8::text[], $9::int[])
      as given (app_id, channel_id, user_id, seq)
    cross join lateral (values (given.user_id), ($10)) as author (id)
    group by 1, 2, 3, 4
    on conflict (channel_id, user_id, part) do update
    set count = tc.count + excluded.count)
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, created_rev, author_seq,
      text, mentions, attachments, custom,
      type, silent, streaming,
      parent_id, quoted_id, client_id,
      created_at, updated_at
    )
    select
      id, $11::uuid, channel_id, user_id, seq, rev, rev, author_seq,
      text, mentions::text[], attachments::jsonb, custom::jsonb,
      type, silent = 1, streaming = 1,
      parent_id, quoted_id, client_id,
      created_at, created_at
    from unnest(
      $12::uuid[],
      $13::uuid[],
      $14::text[],
      $15::int[],
      $16::int[],
      $17::int[],
      $18::text[],
      $19::text[],
      $20::text[],
      $21::text[],
      $22::text[],
      $23::int[],
      $24::int[],
      $25::uuid[],
      $26::uuid[],
      $27::text[],
      $28::timestamptz[]
    ) as message (
      id, channel_id, user_id, seq, rev, author_seq,
      text, mentions, attachments, custom, type, silent, streaming,
      parent_id, quoted_id, client_id, created_at
    )
--> statement-breakpoint

    with markers as (
    update members m
    set
      last_read_seq = greatest(m.last_read_seq, marker.last_read_seq),
      unread_after_seq = greatest(m.unread_after_seq, marker.unread_after_seq)
    from unnest(
      $1::uuid[], $2::text[], $3::int[], $4::int[]
    ) as marker (channel_id, user_id, last_read_seq, unread_after_seq)
    where m.channel_id = marker.channel_id
      and m.user_id = marker.user_id), silent as (
    insert into tombstone_counts as tc (app_id, channel_id, user_id, part, count)
    select given.app_id, given.channel_id, author.id, given.seq / $5::int, count(*)
    from unnest($6::uuid[], $7::uuid[], $8::text[], $9::int[])
      as given (app_id, channel_id, user_id, seq)
    cross join lateral (values (given.user_id), ($10)) as author (id)
    group by 1, 2, 3, 4
    on conflict (channel_id, user_id, part) do update
    set count = tc.count + excluded.count), streams as (
    insert into message_streams (message_id, app_id, channel_id, user_id, length, characters)
    select *
    from unnest(
      $11::uuid[], $12::uuid[], $13::uuid[], $14::text[],
      $15::int[], $16::int[]
    ))
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, created_rev, author_seq,
      text, mentions, attachments, custom,
      type, silent, streaming,
      parent_id, quoted_id, client_id,
      created_at, updated_at
    )
    select
      id, $17::uuid, channel_id, user_id, seq, rev, rev, author_seq,
      text, mentions::text[], attachments::jsonb, custom::jsonb,
      type, silent = 1, streaming = 1,
      parent_id, quoted_id, client_id,
      created_at, created_at
    from unnest(
      $18::uuid[],
      $19::uuid[],
      $20::text[],
      $21::int[],
      $22::int[],
      $23::int[],
      $24::text[],
      $25::text[],
      $26::text[],
      $27::text[],
      $28::text[],
      $29::int[],
      $30::int[],
      $31::uuid[],
      $32::uuid[],
      $33::text[],
      $34::timestamptz[]
    ) as message (
      id, channel_id, user_id, seq, rev, author_seq,
      text, mentions, attachments, custom, type, silent, streaming,
      parent_id, quoted_id, client_id, created_at
    )
--> statement-breakpoint

    with markers as (
    update members m
    set
      last_read_seq = greatest(m.last_read_seq, marker.last_read_seq),
      unread_after_seq = greatest(m.unread_after_seq, marker.unread_after_seq)
    from unnest(
      $1::uuid[], $2::text[], $3::int[], $4::int[]
    ) as marker (channel_id, user_id, last_read_seq, unread_after_seq)
    where m.channel_id = marker.channel_id
      and m.user_id = marker.user_id), streams as (
    insert into message_streams (message_id, app_id, channel_id, user_id, length, characters)
    select *
    from unnest(
      $5::uuid[], $6::uuid[], $7::uuid[], $8::text[],
      $9::int[], $10::int[]
    ))
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, created_rev, author_seq,
      text, mentions, attachments, custom,
      type, silent, streaming,
      parent_id, quoted_id, client_id,
      created_at, updated_at
    )
    select
      id, $11::uuid, channel_id, user_id, seq, rev, rev, author_seq,
      text, mentions::text[], attachments::jsonb, custom::jsonb,
      type, silent = 1, streaming = 1,
      parent_id, quoted_id, client_id,
      created_at, created_at
    from unnest(
      $12::uuid[],
      $13::uuid[],
      $14::text[],
      $15::int[],
      $16::int[],
      $17::int[],
      $18::text[],
      $19::text[],
      $20::text[],
      $21::text[],
      $22::text[],
      $23::int[],
      $24::int[],
      $25::uuid[],
      $26::uuid[],
      $27::text[],
      $28::timestamptz[]
    ) as message (
      id, channel_id, user_id, seq, rev, author_seq,
      text, mentions, attachments, custom, type, silent, streaming,
      parent_id, quoted_id, client_id, created_at
    )
--> statement-breakpoint

    with recursive app (id) as (
      (
        select ms.app_id
        from message_streams ms
        order by ms.app_id
        limit 1
      )
      union all
      select next.app_id
      from app
      cross join lateral (
        select ms.app_id
        from message_streams ms
        where ms.app_id > app.id
        order by ms.app_id
        limit 1
      ) next
    )
    select unstored.app_id, unstored.channel_id, unstored.message_id
    from app
    cross join lateral (
      select
        ms.app_id, ms.channel_id, ms.message_id, ms.stored_at,
        row_number() over (order by ms.stored_at) as turn
      from message_streams ms
      where ms.app_id = app.id
        and ms.stored_at < statement_timestamp() - $1 * interval '1 millisecond'
      order by ms.stored_at
      limit $2
    ) unstored
    where app.id <> all($3::uuid[])
    order by unstored.turn, unstored.stored_at
    limit $4
--> statement-breakpoint

    with recursive search as (
      select 0 as low, c.last_seq + 1 as high
      from channels c
      where c.id = $1
        and c.app_id is not distinct from $2
      union all
      select
        case when probe.is_before then probe.seq else search.low end,
        case when probe.is_before then search.high else middle.seq end
      from search
      cross join lateral (
        select search.low + (search.high - search.low) / 2 as seq
      ) middle
      left join lateral (
        select msg.seq, msg.created_at < $3::timestamptz as is_before
        from messages msg
        where msg.channel_id = $4
          and msg.seq >= middle.seq
        order by msg.seq
        limit 1
      ) probe on true
      where search.high - search.low > 1
    )
    select min(search.high) as seq
    from search
--> statement-breakpoint

    with requested as (
  select id, seq, user_id as author_id, row_number() over (order by seq) as number
  from messages
  where channel_id is not distinct from $1
    and id = any($2::uuid[])
    and deleted_at is null
    and (
  select (
  m.user_id is not null
  or c.type in ('public', 'livestream')
  or (c.type = 'team' and wm.user_id is not null)
)
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $3
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $4
  
  where c.id = $5
    and c.app_id is not distinct from $6
    and num_nulls(c.deleted_at) = 1
)),
    reader as materialized (
      select app_id, user_id, last_read_seq
      from members
      where channel_id = $7
        and last_read_seq >= (select min(seq) from requested)
    ),
    farthest as materialized (
      select *
      from reader
      order by last_read_seq desc, user_id
      limit $8
    ),
    profile as materialized (
  select
    u.id, farthest.last_read_seq, more.shown,
    row_number() over (order by farthest.last_read_seq desc, u.id) as place,
    octet_length(more.shown::text) + $9 as bytes
  from farthest
  join users u on u.app_id = farthest.app_id and u.id = farthest.user_id
  cross join lateral (
    select jsonb_build_object('userId', u.id, 'name', u.display_name, 'image', u.image) as shown
    offset 0 -- measured and answered, but made once
  ) more),
    shown as materialized (
  select message_id, seq, user_id
  from (
    select
      message_id, seq, user_id,
      sum(bytes) over (order by nth, number) as bytes_to_here
    from (
      select
        requested.id as message_id, requested.seq, requested.number, profile.id as user_id,
        row_number() over (partition by requested.id order by profile.place) as nth,
        profile.bytes
      from requested
      join profile
        on profile.last_read_seq >= requested.seq
        and profile.id <> requested.author_id
    ) candidate
    where nth <= $10
  ) measured
  where bytes_to_here <= $11),
    read_by as materialized (
  select
    shown.message_id,
    jsonb_agg(
      profile.shown || jsonb_build_object('readAt', to_char(mark.read_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
      order by mark.read_at, shown.user_id
    ) as readers
  from shown
  join profile on profile.id = shown.user_id
  cross join lateral (
    select rm.read_at
    from read_marks rm
    where rm.channel_id = $12
      and rm.user_id = shown.user_id
      and rm.seq >= shown.seq
    order by rm.seq
    limit 1
  ) mark
  group by shown.message_id),
    counted as materialized (
      select width_bucket(last_read_seq, seqs.in_order) as passed, count(*) as readers
      from reader
      cross join (select array_agg(seq order by seq) as in_order from requested) seqs
      group by 1
    )
    select
      requested.id as message_id,
      (
        coalesce((select sum(readers) from counted where passed >= requested.number), 0)
        - case when author.last_read_seq >= requested.seq then 1 else 0 end
      )::int as read_count,
      coalesce(read_by.readers, '[]') as readers
    from requested
    left join read_by on read_by.message_id = requested.id
    left join members author
      on author.channel_id = $13
      and author.user_id = requested.author_id
--> statement-breakpoint

    with silent as (
    insert into tombstone_counts as tc (app_id, channel_id, user_id, part, count)
    select given.app_id, given.channel_id, author.id, given.seq / $1::int, count(*)
    from unnest($2::uuid[], $3::uuid[], $4::text[], $5::int[])
      as given (app_id, channel_id, user_id, seq)
    cross join lateral (values (given.user_id), ($6)) as author (id)
    group by 1, 2, 3, 4
    on conflict (channel_id, user_id, part) do update
    set count = tc.count + excluded.count)
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, created_rev, author_seq,
      text, mentions, attachments, custom,
      type, silent, streaming,
      parent_id, quoted_id, client_id,
      created_at, updated_at
    )
    select
      id, $7::uuid, channel_id, user_id, seq, rev, rev, author_seq,
      text, mentions::text[], attachments::jsonb, custom::jsonb,
      type, silent = 1, streaming = 1,
      parent_id, quoted_id, client_id,
      created_at, created_at
    from unnest(
      $8::uuid[],
      $9::uuid[],
      $10::text[],
      $11::int[],
      $12::int[],
      $13::int[],
      $14::text[],
      $15::text[],
      $16::text[],
      $17::text[],
      $18::text[],
      $19::int[],
      $20::int[],
      $21::uuid[],
      $22::uuid[],
      $23::text[],
      $24::timestamptz[]
    ) as message (
      id, channel_id, user_id, seq, rev, author_seq,
      text, mentions, attachments, custom, type, silent, streaming,
      parent_id, quoted_id, client_id, created_at
    )
--> statement-breakpoint

    with slice as materialized (
      select
        rm.place, rm.channel_id, rm.user_id, rm.seq, rm.read_at,
        lead(rm.read_at) over (partition by rm.channel_id, rm.user_id order by rm.seq) as next_at
      from (
        select ctid as place, *
        from read_marks
        where (channel_id, user_id, seq) >= ($1, $2, $3)
        order by channel_id, user_id, seq
        limit $4
      ) rm
    ),
    thinned as (
      delete from read_marks
      where ctid = any(array(
        select place
        from slice
        where read_at < now() - $5 * interval '1 day'
          and date_trunc('day', next_at, 'UTC') = date_trunc('day', read_at, 'UTC')
      ))
    )
    select channel_id, user_id, seq, (select count(*)::int from slice) as count
    from slice
    order by channel_id desc, user_id desc, seq desc
    limit 1
--> statement-breakpoint

    with slice as materialized (
      select c.id, c.type, c.name
      from channels c
      where (
    c.app_id = any(array[$1::uuid])
    
    
    
  )
        and c.deleted_at is null
      order by c.app_id desc, c.id desc
      limit $2
    )
    select
      (select count(*)::int from slice) as count,
      (select slice.id from slice order by slice.id limit 1) as oldest,
      array(
        select slice.id
        from slice
        where slice.type not in ('public', 'livestream')
          and slice.name ilike $3
        order by slice.id desc
        limit $4
      ) as ids
--> statement-breakpoint

    with slice as materialized (
      select c.id, c.type, c.name
      from channels c
      where (
    c.app_id = any(array[$1::uuid])
    
    and c.id < $2::uuid
    
  )
        and c.deleted_at is null
      order by c.app_id desc, c.id desc
      limit $3
    )
    select
      (select count(*)::int from slice) as count,
      (select slice.id from slice order by slice.id limit 1) as oldest,
      array(
        select slice.id
        from slice
        where slice.type not in ('public', 'livestream')
          and slice.name ilike $4
        order by slice.id desc
        limit $5
      ) as ids
--> statement-breakpoint

    with streams as (
    insert into message_streams (message_id, app_id, channel_id, user_id, length, characters)
    select *
    from unnest(
      $1::uuid[], $2::uuid[], $3::uuid[], $4::text[],
      $5::int[], $6::int[]
    ))
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, created_rev, author_seq,
      text, mentions, attachments, custom,
      type, silent, streaming,
      parent_id, quoted_id, client_id,
      created_at, updated_at
    )
    select
      id, $7::uuid, channel_id, user_id, seq, rev, rev, author_seq,
      text, mentions::text[], attachments::jsonb, custom::jsonb,
      type, silent = 1, streaming = 1,
      parent_id, quoted_id, client_id,
      created_at, created_at
    from unnest(
      $8::uuid[],
      $9::uuid[],
      $10::text[],
      $11::int[],
      $12::int[],
      $13::int[],
      $14::text[],
      $15::text[],
      $16::text[],
      $17::text[],
      $18::text[],
      $19::int[],
      $20::int[],
      $21::uuid[],
      $22::uuid[],
      $23::text[],
      $24::timestamptz[]
    ) as message (
      id, channel_id, user_id, seq, rev, author_seq,
      text, mentions, attachments, custom, type, silent, streaming,
      parent_id, quoted_id, client_id, created_at
    )
--> statement-breakpoint

    with threads as (
    update messages msg
    set reply_count = thread.reply_count, rev = thread.rev
    from unnest($1::uuid[], $2::int[], $3::int[])
      as thread (id, reply_count, rev)
    where msg.id = thread.id)
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, created_rev, author_seq,
      text, mentions, attachments, custom,
      type, silent, streaming,
      parent_id, quoted_id, client_id,
      created_at, updated_at
    )
    select
      id, $4::uuid, channel_id, user_id, seq, rev, rev, author_seq,
      text, mentions::text[], attachments::jsonb, custom::jsonb,
      type, silent = 1, streaming = 1,
      parent_id, quoted_id, client_id,
      created_at, created_at
    from unnest(
      $5::uuid[],
      $6::uuid[],
      $7::text[],
      $8::int[],
      $9::int[],
      $10::int[],
      $11::text[],
      $12::text[],
      $13::text[],
      $14::text[],
      $15::text[],
      $16::int[],
      $17::int[],
      $18::uuid[],
      $19::uuid[],
      $20::text[],
      $21::timestamptz[]
    ) as message (
      id, channel_id, user_id, seq, rev, author_seq,
      text, mentions, attachments, custom, type, silent, streaming,
      parent_id, quoted_id, client_id, created_at
    )
--> statement-breakpoint

    with threads as (
    update messages msg
    set reply_count = thread.reply_count, rev = thread.rev
    from unnest($1::uuid[], $2::int[], $3::int[])
      as thread (id, reply_count, rev)
    where msg.id = thread.id), markers as (
    update members m
    set
      last_read_seq = greatest(m.last_read_seq, marker.last_read_seq),
      unread_after_seq = greatest(m.unread_after_seq, marker.unread_after_seq)
    from unnest(
      $4::uuid[], $5::text[], $6::int[], $7::int[]
    ) as marker (channel_id, user_id, last_read_seq, unread_after_seq)
    where m.channel_id = marker.channel_id
      and m.user_id = marker.user_id)
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, created_rev, author_seq,
      text, mentions, attachments, custom,
      type, silent, streaming,
      parent_id, quoted_id, client_id,
      created_at, updated_at
    )
    select
      id, $8::uuid, channel_id, user_id, seq, rev, rev, author_seq,
      text, mentions::text[], attachments::jsonb, custom::jsonb,
      type, silent = 1, streaming = 1,
      parent_id, quoted_id, client_id,
      created_at, created_at
    from unnest(
      $9::uuid[],
      $10::uuid[],
      $11::text[],
      $12::int[],
      $13::int[],
      $14::int[],
      $15::text[],
      $16::text[],
      $17::text[],
      $18::text[],
      $19::text[],
      $20::int[],
      $21::int[],
      $22::uuid[],
      $23::uuid[],
      $24::text[],
      $25::timestamptz[]
    ) as message (
      id, channel_id, user_id, seq, rev, author_seq,
      text, mentions, attachments, custom, type, silent, streaming,
      parent_id, quoted_id, client_id, created_at
    )
--> statement-breakpoint

    with threads as (
    update messages msg
    set reply_count = thread.reply_count, rev = thread.rev
    from unnest($1::uuid[], $2::int[], $3::int[])
      as thread (id, reply_count, rev)
    where msg.id = thread.id), markers as (
    update members m
    set
      last_read_seq = greatest(m.last_read_seq, marker.last_read_seq),
      unread_after_seq = greatest(m.unread_after_seq, marker.unread_after_seq)
    from unnest(
      $4::uuid[], $5::text[], $6::int[], $7::int[]
    ) as marker (channel_id, user_id, last_read_seq, unread_after_seq)
    where m.channel_id = marker.channel_id
      and m.user_id = marker.user_id), silent as (
    insert into tombstone_counts as tc (app_id, channel_id, user_id, part, count)
    select given.app_id, given.channel_id, author.id, given.seq / $8::int, count(*)
    from unnest($9::uuid[], $10::uuid[], $11::text[], $12::int[])
      as given (app_id, channel_id, user_id, seq)
    cross join lateral (values (given.user_id), ($13)) as author (id)
    group by 1, 2, 3, 4
    on conflict (channel_id, user_id, part) do update
    set count = tc.count + excluded.count)
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, created_rev, author_seq,
      text, mentions, attachments, custom,
      type, silent, streaming,
      parent_id, quoted_id, client_id,
      created_at, updated_at
    )
    select
      id, $14::uuid, channel_id, user_id, seq, rev, rev, author_seq,
      text, mentions::text[], attachments::jsonb, custom::jsonb,
      type, silent = 1, streaming = 1,
      parent_id, quoted_id, client_id,
      created_at, created_at
    from unnest(
      $15::uuid[],
      $16::uuid[],
      $17::text[],
      $18::int[],
      $19::int[],
      $20::int[],
      $21::text[],
      $22::text[],
      $23::text[],
      $24::text[],
      $25::text[],
      $26::int[],
      $27::int[],
      $28::uuid[],
      $29::uuid[],
      $30::text[],
      $31::timestamptz[]
    ) as message (
      id, channel_id, user_id, seq, rev, author_seq,
      text, mentions, attachments, custom, type, silent, streaming,
      parent_id, quoted_id, client_id, created_at
    )
--> statement-breakpoint

    with threads as (
    update messages msg
    set reply_count = thread.reply_count, rev = thread.rev
    from unnest($1::uuid[], $2::int[], $3::int[])
      as thread (id, reply_count, rev)
    where msg.id = thread.id), silent as (
    insert into tombstone_counts as tc (app_id, channel_id, user_id, part, count)
    select given.app_id, given.channel_id, author.id, given.seq / $4::int, count(*)
    from unnest($5::uuid[], $6::uuid[], $7::text[], $8::int[])
      as given (app_id, channel_id, user_id, seq)
    cross join lateral (values (given.user_id), ($9)) as author (id)
    group by 1, 2, 3, 4
    on conflict (channel_id, user_id, part) do update
    set count = tc.count + excluded.count)
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, created_rev, author_seq,
      text, mentions, attachments, custom,
      type, silent, streaming,
      parent_id, quoted_id, client_id,
      created_at, updated_at
    )
    select
      id, $10::uuid, channel_id, user_id, seq, rev, rev, author_seq,
      text, mentions::text[], attachments::jsonb, custom::jsonb,
      type, silent = 1, streaming = 1,
      parent_id, quoted_id, client_id,
      created_at, created_at
    from unnest(
      $11::uuid[],
      $12::uuid[],
      $13::text[],
      $14::int[],
      $15::int[],
      $16::int[],
      $17::text[],
      $18::text[],
      $19::text[],
      $20::text[],
      $21::text[],
      $22::int[],
      $23::int[],
      $24::uuid[],
      $25::uuid[],
      $26::text[],
      $27::timestamptz[]
    ) as message (
      id, channel_id, user_id, seq, rev, author_seq,
      text, mentions, attachments, custom, type, silent, streaming,
      parent_id, quoted_id, client_id, created_at
    )
--> statement-breakpoint

    with waiting as materialized (
      select line.id
      from (
        select wd.id, wd.next_attempt_at
        from webhook_deliveries wd
        where wd.webhook_id = $1
          and wd.status = 'pending'
        order by wd.id
        limit $2
      ) line
      where line.next_attempt_at > now()
      union all
      select retrying.id
      from (
        select wd.id
        from webhook_deliveries wd
        where wd.webhook_id = $3
          and wd.status = 'retrying'
          and wd.next_attempt_at > now()
        order by wd.next_attempt_at
        limit $4
      ) retrying
    ),
    locked as materialized (
      select wd.id
      from webhook_deliveries wd
      where wd.id = any(array(select id from waiting))
      order by wd.topic, wd."offset", wd.id
      for no key update
    )
    update webhook_deliveries
    set next_attempt_at = now()
    where id = any(array(select id from locked))
      and app_id is not distinct from $5
--> statement-breakpoint

  delete from imported_rows
  where app_id = $1
    and record = 'channel'
    and key = any($2::text[])
--> statement-breakpoint

  delete from imports
  where app_id = $1
    and run_id = $2
--> statement-breakpoint

  delete from message_streams
  where message_id = $1
    and app_id is not distinct from $2
--> statement-breakpoint

  delete from reactions
  where user_id = $1
    and (message_id, emoji) in (
      select *
      from unnest(
        $2::uuid[],
        $3::text[]
      )
    )
  returning message_id, emoji
--> statement-breakpoint

  delete from read_marks
  where (channel_id, user_id, seq) in (
    select rm.channel_id, rm.user_id, rm.seq
    from read_marks rm
    join users u on u.app_id = rm.app_id and u.id = rm.user_id and u.deleted_at is not null
    where rm.channel_id = $1
      and rm.user_id = $2
    limit $3
  )
--> statement-breakpoint

  delete from workspace_invite_uses
  where (invite_id, user_id) in (
    select wiu.invite_id, wiu.user_id
    from unnest($1::text[]) as given (user_id)
    
  join users u
    on u.app_id = $2
    and u.id = given.user_id
    and u.deleted_at is not null
    and u.forgotten_at is null
    join workspace_invite_uses wiu on wiu.app_id = $3 and wiu.user_id = u.id
    limit $4
  )
--> statement-breakpoint

  delete from workspaces w
  where w.id = $1
    and (
  select true
  from workspace_members wm
  where wm.workspace_id = w.id
  limit 1
) is null
    and not exists (
      select from channels c
      where c.app_id = w.app_id
        and c.workspace_id = w.id
    )
--> statement-breakpoint

  insert into active_users as au (app_id, day, count)
  select added.app_id, (now() at time zone 'UTC')::date, added.count
  from (select $1::uuid as app_id, $2::int as count) added
  order by added.app_id
  on conflict (app_id, day) do update
  set count = au.count + excluded.count
--> statement-breakpoint

  insert into app_imports (app_id, export_id, batches, checksum)
  values ($1, $2, 1, $3)
--> statement-breakpoint

  insert into audit (app_id, actor, key_id, user_id, operation, target, request_id)
  values (
    $1, $2, $3, $4,
    $5, $6, $7
  )
--> statement-breakpoint

  insert into preferences as pref (app_id, user_id, chosen)
  values ($1, $2, $3)
  on conflict (app_id, user_id) do update set
    chosen = pref.chosen || excluded.chosen,
    updated_at = clock_timestamp()
  returning chosen
--> statement-breakpoint

  insert into staged_jobs (task, payload)
  select
    'device',
    json_build_object('appId', $1::text, 'userId', own.user_id, 'provider', own.provider)
  from (
    select distinct d.user_id, d.provider
    from devices d
    where d.app_id = $2
  ) own
--> statement-breakpoint

  insert into users (app_id, id, deleted_at, forgotten_at)
  values ($1, $2, now(), now())
  on conflict do nothing
--> statement-breakpoint

  select
    app_id, channel_id, user_id, state,
    array_agg(message_id) as message_ids,
    array_agg(emoji) as emojis
  from (
    select
      r.app_id, msg.channel_id, r.user_id, r.message_id, r.emoji,
      
  case
    when c.deleted_at is null then 'live'
    when c.deleted_at = 'infinity' then 'importing'
    else 'deleted'
  end as state
    from reactions r
    join users u
      on u.app_id = r.app_id
      and u.id = r.user_id
      and u.deleted_at is not null
      and u.forgotten_at is null
    join messages msg on msg.id = r.message_id
    join channels c on c.id = msg.channel_id
    where r.app_id = $1
      and r.user_id = any($2)
      and msg.channel_id <> all($3::uuid[])
    limit $4
  ) own
  group by app_id, channel_id, user_id, state
--> statement-breakpoint

  select
    c.*,
    
  'owner' as role,
  wm.role as workspace_role,
    m.last_read_seq, m.unread_after_seq, m.starred, m.muted
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $1
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $2
  
  where c.id = $3
    and c.app_id is not distinct from $4
    and num_nulls(c.deleted_at) = 1
--> statement-breakpoint

  select
    c.*,
    
  m.role as role,
  wm.role as workspace_role,
    m.last_read_seq, m.unread_after_seq, m.starred, m.muted
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $1
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $2
  
  where c.id = $3
    and c.app_id is not distinct from $4
    and num_nulls(c.deleted_at) = 1
--> statement-breakpoint

  select
    c.app_id, c.id, c.deleted_at::text as deleted_at,
    not (
  exists (
    select
    from webhooks wh
    where wh.app_id = c.app_id
  )
  and exists (
    select
    from events e
    where e.topic = 'chat:' || c.app_id || ':' || c.id
  )
)
      or exists (
        select
        from messages msg
        where msg.channel_id = c.id
      )
      or exists (
        select
        from members m
        where m.channel_id = c.id
      ) as is_due
  from (
    select *
    from channels
    where deleted_at is not null
      and deleted_at < 'infinity'
      and deleted_at >= $1
      and (deleted_at, id) > ($2, $3)
    order by deleted_at, id
    limit $4
  ) c
  order by c.deleted_at, c.id
--> statement-breakpoint

  select
    c.id, c.cid, c.type, c.name, c.workspace_id, c.created_by,
    coalesce(c.frozen, false) as frozen, c.member_count, c.last_seq,
    c.last_activity_at, c.created_at
  from channels c
  where c.id = any(array(
      select c.id
      from channels c
      where (
    c.app_id = any(array[$1::uuid])
    
    
    
  )
        and c.deleted_at is null
      order by c.app_id desc, c.id desc
      limit $2))
    and c.app_id is not distinct from $3
  order by c.id desc
--> statement-breakpoint

  select
    c.id, c.cid, c.type, c.name, c.workspace_id, c.created_by,
    coalesce(c.frozen, false) as frozen, c.member_count, c.last_seq,
    c.last_activity_at, c.created_at
  from channels c
  where c.id = any(array(
      select c.id
      from channels c
      where (
    c.app_id = any(array[$1::uuid])
    
    and c.id < $2::uuid
    
  )
        and c.deleted_at is null
      order by c.app_id desc, c.id desc
      limit $3))
    and c.app_id is not distinct from $4
  order by c.id desc
--> statement-breakpoint

  select
    c.id, c.cid, c.type, c.name, c.workspace_id, c.created_by,
    coalesce(c.frozen, false) as frozen, c.member_count, c.last_seq,
    c.last_activity_at, c.created_at
  from channels c
  where c.id = any(array(
    select named.id
    from (
    with first as materialized (
      select listed.*
      from (
        
    select newest.id, newest.name
    from (
      select c.id, c.name, c.type
      from channels c
      where (
    c.app_id = any(array[$1::uuid])
    
    
    
  )
        and c.deleted_at is null
      order by c.app_id desc, c.id desc
      limit $2
    ) newest
    where newest.type in ('public', 'livestream')
      ) listed
      where listed.name ilike $3
      order by id desc
      limit $4
    )
    select first.*
    from first
    where (select count(*) from first) = $5
    union all
    (
      select keyed.*
      from (
    select named.id, named.name
    from (
      select id, name
      from channels_named($6, 'public', $7)
      union all
      select id, name
      from channels_named($8, 'livestream', $9)
    ) named
    where id < $10) keyed
      where (select count(*) from first) < $11
        and keyed.name ilike $12
      order by id desc
      limit $13
    )) named))
    and c.app_id is not distinct from $14
  order by c.id desc
--> statement-breakpoint

  select
    c.id, c.cid, c.type, c.name, c.workspace_id, c.created_by,
    coalesce(c.frozen, false) as frozen, c.member_count, c.last_seq,
    c.last_activity_at, c.created_at
  from channels c
  where c.id = any(array(
    select named.id
    from (
    with first as materialized (
      select listed.*
      from (
        
    select newest.id, newest.name
    from (
      select c.id, c.name, c.type
      from channels c
      where (
    c.app_id = any(array[$1::uuid])
    
    and c.id < $2::uuid
    
  )
        and c.deleted_at is null
      order by c.app_id desc, c.id desc
      limit $3
    ) newest
    where newest.type in ('public', 'livestream')
      ) listed
      where listed.name ilike $4
      order by id desc
      limit $5
    )
    select first.*
    from first
    where (select count(*) from first) = $6
    union all
    (
      select keyed.*
      from (
    select named.id, named.name
    from (
      select id, name
      from channels_named($7, 'public', $8)
      union all
      select id, name
      from channels_named($9, 'livestream', $10)
    ) named
    where id < $11) keyed
      where (select count(*) from first) < $12
        and keyed.name ilike $13
      order by id desc
      limit $14
    )) named))
    and c.app_id is not distinct from $15
  order by c.id desc
--> statement-breakpoint

  select
    c.id, c.cid, c.type, c.name, c.workspace_id, c.created_by,
    coalesce(c.frozen, false) as frozen, c.member_count, c.last_seq,
    c.last_activity_at, c.created_at
  from channels c
  where c.id = any(array(
    select own.id
    from (
      select m.channel_id as id
      from members m
      where m.app_id = $1
        and m.user_id = $2
      order by m.channel_id desc
    ) own
    cross join lateral (
      select
      from channels c
      where c.id = own.id
        and c.deleted_at is null
      limit 1
    ) live
    where id < $3
    order by own.id desc
    limit $4))
    and c.app_id is not distinct from $5
  order by c.id desc
--> statement-breakpoint

  select
    c.id, c.cid, c.type, c.name, c.workspace_id, c.created_by,
    coalesce(c.frozen, false) as frozen, c.member_count, c.last_seq,
    c.last_activity_at, c.created_at
  from channels c
  where c.id = any(array(select unnest($1::uuid[])))
    and c.app_id is not distinct from $2
  order by c.id desc
--> statement-breakpoint

  select
    c.relname as name,
    c.relrowsecurity as "isGuarded",
    to_json(array(
      select s.relname::text
      from pg_depend d
      join pg_class s on s.oid = d.objid and s.relkind = 'S'
      where d.refclassid = 'pg_class'::regclass
        and d.refobjid = c.oid
        and d.classid = 'pg_class'::regclass
    )) as sequences
  from pg_class c
  where c.relnamespace = $1::regnamespace
    and c.relkind in ('r', 'p', 'v')
    and ($2 <> 'public' or c.relname = any(string_to_array($3, ',')))
  order by c.relname
--> statement-breakpoint

  select
    c.type, c.last_seq, c.member_count, c.frozen,
    
  'owner' as role,
  wm.role as workspace_role,
    null::int as cursor_seq
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $1
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $2
  
  where c.id = $3
    and c.app_id is not distinct from $4
    and num_nulls(c.deleted_at) = 1
--> statement-breakpoint

  select
    c.type, c.last_seq, c.member_count, c.frozen,
    
  m.role as role,
  wm.role as workspace_role,
    (
  select msg.seq
  from messages msg
  where msg.id = $1
    and msg.channel_id is not distinct from $2
) as cursor_seq
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $3
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $4
  
  where c.id = $5
    and c.app_id is not distinct from $6
    and num_nulls(c.deleted_at) = 1
--> statement-breakpoint

  select
    c.type, c.last_seq, c.member_count, c.frozen,
    
  m.role as role,
  wm.role as workspace_role,
    null::int as cursor_seq
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $1
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $2
  
  where c.id = $3
    and c.app_id is not distinct from $4
    and num_nulls(c.deleted_at) = 1
--> statement-breakpoint

  select
    m.user_id, m.profile as "user", m.role, coalesce(m.custom, '{}') as custom, m.joined_at,
    (extract(epoch from m.joined_at) * 1000000)::bigint as joined_micros,
    m.has_next
  from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $1 + coalesce(octet_length(m.custom::text), 0)) over joined as bytes
    from (
    select m.*
    from members m
    where 
          m.channel_id = $2
          and true
          and (
  select (
  m.user_id is not null
  or c.type in ('public', 'livestream')
  or (c.type = 'team' and wm.user_id is not null)
)
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $3
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $4
  
  where c.id = $5
    and c.app_id is not distinct from $6
    and num_nulls(c.deleted_at) = 1
)
          order by m.joined_at, m.user_id
          limit $7
          offset $8) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $9 or measured.place = 1) m
  order by m.joined_at, m.user_id
--> statement-breakpoint

  select
    m.user_id, m.profile as "user", m.role, coalesce(m.custom, '{}') as custom, m.joined_at,
    (extract(epoch from m.joined_at) * 1000000)::bigint as joined_micros,
    m.has_next
  from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $1 + coalesce(octet_length(m.custom::text), 0)) over joined as bytes
    from (
    select m.*
    from members m
    where 
          m.channel_id = $2
          and true
          and (
  select true
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $3
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $4
  
  where c.id = $5
    and c.app_id is not distinct from $6
    and num_nulls(c.deleted_at) = 1
)
          order by m.joined_at, m.user_id
          limit $7
          offset $8) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $9 or measured.place = 1) m
  order by m.joined_at, m.user_id
--> statement-breakpoint

  select
    tables.name,
    (known.share * c.reltuples)::float8 as "rows",
    round(known.share * pg_total_relation_size(c.oid))::float8 as bytes
  from unnest($1::text[]) tables (name)
  join pg_class c on c.oid = to_regclass(tables.name)
  left join lateral (
    select coalesce(s.most_common_freqs[array_position(s.ids, $2)], 0) as share
    from (
      select
        s.most_common_vals::text::text[] as ids,
        s.most_common_freqs
      from pg_stats s
      where s.schemaname = current_schema()
        and s.tablename = tables.name
        and s.attname = 'app_id'
    ) s
  ) known on true
--> statement-breakpoint

  select
    u.app_id, u.id as user_id, u.display_name as name, u.image,
    coalesce(extract(epoch from u.profile_changed_at) * 1000000, 0)::float8 as version,
    u.profile_changed_at::text as changed_at
  from users u
  where u.profile_changed_at > now() - $1 * interval '1 millisecond'
    and (u.profile_changed_at, u.app_id, u.id)
      > ($2, $3, $4)
    and u.deleted_at is null
  order by u.profile_changed_at, u.app_id, u.id
  limit $5
--> statement-breakpoint

  select
    w.id, w.name, w.type, w.image,
    wm.role,
    w.created_at, w.updated_at,
    w.id = (
      select earliest.workspace_id
      from workspace_members earliest
      where earliest.app_id = $1
        and earliest.user_id = $2
      order by earliest.joined_at, earliest.workspace_id
      limit 1
    ) as is_default,
    (
      select count(*)::int
      from (
        select from workspace_members member
        where member.workspace_id = w.id
        limit 
  least($3::int, $4::int / wm.listed)
      ) counted
    ) as member_count,
    (
      select count(*)::int
      from (
        select from channels c
        where c.workspace_id = w.id
          and c.deleted_at is null
        limit 
  least($5::int, $6::int / wm.listed)
      ) counted
    ) as channel_count,
    (extract(epoch from wm.joined_at) * 1000000)::bigint as joined_micros,
    wm.has_next
  from (
    select
      wm.*,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      (count(*) over ())::int as listed,
      sum(octet_length(jsonb_build_array(w.name, w.type, w.image)::text) + $7)
        over joined as bytes
    from (
      select wm.*
      from workspace_members wm
      where wm.app_id = $8
        and wm.user_id = $9
        and 
      true
      order by wm.joined_at, wm.workspace_id
      limit $10
    ) wm
    join workspaces w on w.id = wm.workspace_id
    window joined as (order by wm.joined_at, wm.workspace_id)
  ) wm
  join workspaces w on w.id = wm.workspace_id
  where wm.bytes <= $11 or wm.place = 1
  order by wm.joined_at, w.id
--> statement-breakpoint

  select
    w.id, w.name, w.type, w.image,
    wm.role,
    w.created_at, w.updated_at,
    w.id = (
      select earliest.workspace_id
      from workspace_members earliest
      where earliest.app_id = $1
        and earliest.user_id = $2
      order by earliest.joined_at, earliest.workspace_id
      limit 1
    ) as is_default,
    (
      select count(*)::int
      from (
        select from workspace_members member
        where member.workspace_id = w.id
        limit 
  least($3::int, $4::int / wm.listed)
      ) counted
    ) as member_count,
    (
      select count(*)::int
      from (
        select from channels c
        where c.workspace_id = w.id
          and c.deleted_at is null
        limit 
  least($5::int, $6::int / wm.listed)
      ) counted
    ) as channel_count,
    (extract(epoch from wm.joined_at) * 1000000)::bigint as joined_micros,
    wm.has_next
  from (
    select
      wm.*,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      (count(*) over ())::int as listed,
      sum(octet_length(jsonb_build_array(w.name, w.type, w.image)::text) + $7)
        over joined as bytes
    from (
      select wm.*
      from workspace_members wm
      where wm.app_id = $8
        and wm.user_id = $9
        and wm.workspace_id = $10
    ) wm
    join workspaces w on w.id = wm.workspace_id
    window joined as (order by wm.joined_at, wm.workspace_id)
  ) wm
  join workspaces w on w.id = wm.workspace_id
  where wm.bytes <= $11 or wm.place = 1
  order by wm.joined_at, w.id
--> statement-breakpoint

  select
  from channels c
  where c.id = $1
    and c.app_id is not distinct from $2
    and c.deleted_at is not null
  for no key update
--> statement-breakpoint

  select 
  u.id, u.display_name as name, u.image, u.last_active_at,
  coalesce((
    select true
    from connections con
    join nodes n on n.id = con.node_id
    where con.app_id = u.app_id
      and con.user_id = u.id
      and n.beat_at > now() - $1 * interval '1 second'
    limit 1
  ), false) as online
  from (
      select u.*
      from (
        select distinct id
        from unnest($2::text[]) id
      ) wanted
      cross join lateral (
        select *
        from users u
        where u.app_id = $3
          and u.id = wanted.id
          and u.deleted_at is null
        limit 1
      ) u
      where true) u
  order by u.display_name, u.id
--> statement-breakpoint

  select 
  u.id, u.display_name as name, u.image, u.last_active_at,
  coalesce((
    select true
    from connections con
    join nodes n on n.id = con.node_id
    where con.app_id = u.app_id
      and con.user_id = u.id
      and n.beat_at > now() - $1 * interval '1 second'
    limit 1
  ), false) as online
  from (
      select u.*
      from (
        select distinct id
        from unnest(array(
    select named.id
    from (
    with first as materialized (
      select listed.*
      from (
        
    select u.id, u.display_name as name
    from users u
    where u.app_id = $2
      and u.deleted_at is null
      and (u.display_name, u.id) > ($3, $4)
    order by u.display_name, u.id
    limit $5
      ) listed
      where listed.name ilike $6
      order by name, id
      limit $7
    )
    select first.*
    from first
    where (select count(*) from first) = $8
    union all
    (
      select keyed.*
      from (
    select u.id, u.display_name as name
    from users_named($9, $10) u
    where (u.display_name, u.id) > ($11, $12)) keyed
      where (select count(*) from first) < $13
        and keyed.name ilike $14
      order by name, id
      limit $15
    )) named
    order by name, id
    offset $16)::text[]) id
      ) wanted
      cross join lateral (
        select *
        from users u
        where u.app_id = $17
          and u.id = wanted.id
          and u.deleted_at is null
        limit 1
      ) u
      where true) u
  order by u.display_name, u.id
--> statement-breakpoint

  select 
  u.id, u.display_name as name, u.image, u.last_active_at,
  coalesce((
    select true
    from connections con
    join nodes n on n.id = con.node_id
    where con.app_id = u.app_id
      and con.user_id = u.id
      and n.beat_at > now() - $1 * interval '1 second'
    limit 1
  ), false) as online
  from (
      select u.*
      from (
        select distinct id
        from unnest(array(
    select named.id
    from (
    with first as materialized (
      select listed.*
      from (
        
    select u.id, u.display_name as name
    from users u
    where u.app_id = $2
      and u.deleted_at is null
      and true
    order by u.display_name, u.id
    limit $3
      ) listed
      where listed.name ilike $4
      order by name, id
      limit $5
    )
    select first.*
    from first
    where (select count(*) from first) = $6
    union all
    (
      select keyed.*
      from (
    select u.id, u.display_name as name
    from users_named($7, $8) u
    where true) keyed
      where (select count(*) from first) < $9
        and keyed.name ilike $10
      order by name, id
      limit $11
    )) named
    order by name, id
    offset $12)::text[]) id
      ) wanted
      cross join lateral (
        select *
        from users u
        where u.app_id = $13
          and u.id = wanted.id
          and u.deleted_at is null
        limit 1
      ) u
      where true) u
  order by u.display_name, u.id
--> statement-breakpoint

  select 
  u.id, u.display_name as name, u.image, u.last_active_at,
  coalesce((
    select true
    from connections con
    join nodes n on n.id = con.node_id
    where con.app_id = u.app_id
      and con.user_id = u.id
      and n.beat_at > now() - $1 * interval '1 second'
    limit 1
  ), false) as online
  from (
      select u.*
      from (
        select distinct id
        from unnest(array[$2]::text[]) id
      ) wanted
      cross join lateral (
        select *
        from users u
        where u.app_id = $3
          and u.id = wanted.id
          and u.deleted_at is null
        limit 1
      ) u
      where true) u
  order by u.display_name, u.id
--> statement-breakpoint

  select 
  u.id, u.display_name as name, u.image, u.last_active_at,
  coalesce((
    select true
    from connections con
    join nodes n on n.id = con.node_id
    where con.app_id = u.app_id
      and con.user_id = u.id
      and n.beat_at > now() - $1 * interval '1 second'
    limit 1
  ), false) as online
  from (
  select *
  from users u
  where u.app_id = $2
    and u.deleted_at is null
    and 
    true
    order by u.display_name, u.id
    limit $3
    offset $4) u
  order by u.display_name, u.id
--> statement-breakpoint

  select 
  u.id, u.display_name as name, u.image, u.last_active_at,
  coalesce((
    select true
    from connections con
    join nodes n on n.id = con.node_id
    where con.app_id = u.app_id
      and con.user_id = u.id
      and n.beat_at > now() - $1 * interval '1 second'
    limit 1
  ), false) as online, u.custom, u.email
  from (
  select *
  from users u
  where u.app_id = $2
    and u.deleted_at is null
    and u.id = $3) u
  order by u.display_name, u.id
--> statement-breakpoint

  select 
  wh.id, wh.url, wh.events, wh.description,
  wh.enabled, wh.disabled_reason, wh.failing_since, wh.created_at
  from webhooks wh
  where wh.app_id = $1
  order by wh.id
--> statement-breakpoint

  select *
  from channels
  where id = $1
    and app_id is not distinct from $2
    and deleted_at is null
--> statement-breakpoint

  select *, clock_timestamp() as now
  from messages
  where id = $1
    and channel_id is not distinct from $2
    and deleted_at is null
--> statement-breakpoint

  select a.id as app_id, a.message_retention_days as days
  from apps a
  where a.message_retention_days is not null
    and a.deleted_at is null
  order by a.id
--> statement-breakpoint

  select app_id, user_id
  from connections
  where node_id = $1
--> statement-breakpoint

  select au.day::text as day, au.count as users
  from active_users au
  where au.app_id = $1
    and au.day > (now() at time zone 'utc')::date - $2::int
  order by au.day desc
--> statement-breakpoint

  select c.app_id, c.id, c.name, c.image, to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as now
  from channels c
  where c.id = $1
    and c.app_id is not distinct from $2
    and c.deleted_at is not null
  
--> statement-breakpoint

  select c.app_id, c.id, c.name, c.image, to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as now
  from channels c
  where c.id = $1
    and c.app_id is not distinct from $2
    and c.deleted_at is not null
  for no key update
--> statement-breakpoint

  select chosen
  from preferences
  where app_id = $1
    and user_id = $2
--> statement-breakpoint

  select con.node_id, con.app_id, con.user_id
  from connections con
  where (con.node_id, con.app_id, con.user_id)
      > ($1, $2, $3)
    and (
      select n.beat_at > now() - $4 * interval '1 second'
      from nodes n
      where n.id = con.node_id
    )
  order by con.node_id, con.app_id, con.user_id
  limit $5
--> statement-breakpoint

  select connected.user_id
  from channels c
  cross join lateral (
  select (c.member_count > $1) and c.member_count > (
    select count(*)
    from (
      select
      from connections
      where app_id = c.app_id
        
      limit c.member_count
    ) connected
  ) as is_crowded
  offset 0
) size
  cross join lateral (
    select m.user_id
    from members m
    where m.channel_id = c.id
      and not size.is_crowded
      and exists (
        select from connections con
        where con.app_id = m.app_id
          and con.user_id = m.user_id
      )
    union
    select con.user_id
    
  from connections con
  where con.app_id = c.app_id
    
    and size.is_crowded
    and (
      select true
      from members m
      where m.channel_id = c.id
        and m.user_id = con.user_id
    )
  ) connected
  where c.id = $2
--> statement-breakpoint

  select distinct r.rolname::text as role
  from pg_policy p
  join pg_class c on c.oid = p.polrelid
  join pg_namespace n on n.oid = c.relnamespace and n.nspname = $1
  join pg_roles r on r.oid = any(p.polroles)
  where p.polname = left('parley_' || r.rolname, 63)
    and exists (
      select
      from pg_class t
      join pg_namespace tn on tn.oid = t.relnamespace and tn.nspname = $2
      cross join aclexplode(t.relacl) acl
      where t.relname = any(string_to_array($3, ','))
        and acl.grantee = r.oid
    )
  order by 1
--> statement-breakpoint

  select from workspaces
  where id = $1
    and app_id is not distinct from $2
  for update
--> statement-breakpoint

  select id
  from channels
  where id = any($1::uuid[])
    and app_id is not distinct from $2
    and num_nulls(deleted_at) = 1
  order by id
  for no key update 
--> statement-breakpoint

  select id
  from channels
  where id = any($1::uuid[])
    and app_id is not distinct from $2
    and num_nulls(deleted_at) = 1
  order by id
  for no key update skip locked
--> statement-breakpoint

  select id
  from users
  where app_id = $1
    and id = any($2)
    and deleted_at is null
  order by id
  for update
--> statement-breakpoint

  select id, display_name as name, image
  from users
  where app_id = $1
    and id = $2
    and deleted_at is not null
    and forgotten_at is null
  for share
--> statement-breakpoint

  select id, display_name as name, image
  from users
  where app_id = $1
    and id = any($2)
    and deleted_at is not null
    and forgotten_at is null
  for share skip locked
--> statement-breakpoint

  select ir.channel_id as id, ir.line
  from imported_rows ir
  where ir.app_id = $1
    and ir.record = 'channel'
    and ir.key > $2
    and ir."row" ->> 'runId' = $3
  order by ir.key
  limit $4
--> statement-breakpoint

  select m.user_id, m.profile as "user", m.role, coalesce(m.custom, '{}') as custom, m.joined_at
  from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $1 + coalesce(octet_length(m.custom::text), 0)) over joined as bytes
    from (
    select m.*
    from members m
    where m.channel_id = $2 and m.user_id = any($3)) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $4 or measured.place = 1) m
  order by m.joined_at, m.user_id
--> statement-breakpoint

  select measured.*
  from (
    select
      (row_number() over page)::int as place,
      lead(true) over page as has_next,
      
  coalesce((
    select us.last_offset
    from user_streams us
    where us.app_id = $1
      and us.user_id = $2
  ), 0),
      
  c.id, c.cid, c.type,
  coalesce(c.name, peer.display_name, $3) as name,
  coalesce(c.image, peer.image) as image,
  c.description, c.workspace_id, c.created_by, c.member_count,
  case when m.user_id is null then 0 else 
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $4
        and tc.part >= m.unread_after_seq / $5::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $6::int + 1) * $7::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $8::int + 1) * $9::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $10
      and tc.part > m.unread_after_seq / $11::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $12::int
  ), 0)
    else 0
  end)
    )::int
  end end as unread_count,
  c.rev + coalesce(m.unread_after_seq, c.last_seq) as unread_version,
  coalesce(m.last_read_seq, 0) as last_read_seq,
  m.role,
  coalesce(m.starred, false) as starred,
  coalesce(m.muted, false) as muted,
  c.rev,
  coalesce(c.frozen, false) as frozen,
  c.custom::text,
  c.created_at, nullif(c.updated_at, c.created_at),
      more.members,
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  more.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $13 then $14::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $15),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      sum(
        coalesce(octet_length(c.custom::text), 0)
        + coalesce(octet_length(c.description), 0)
        + coalesce(octet_length(more.members), 0)
        + coalesce(octet_length(more.reactions), 0)
        + coalesce(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0), 0)
      ) over page as bytes
    from (
      select
        c.*,
        m.user_id as member_id, m.role as member_role, m.last_read_seq, m.unread_after_seq,
        m.starred, m.muted
      from channels c
      left join members m on m.channel_id = c.id and m.user_id = $16
      where c.app_id is not distinct from $17
        and num_nulls(c.deleted_at) = 1
        and 
    (
    c.app_id = any(array[$18::uuid])
    
    
    
  )
    order by c.app_id desc, c.id desc
    limit $19
    offset $20
    ) c
    cross join lateral (
      select
        c.member_id as user_id, c.member_role as role, c.last_read_seq, c.unread_after_seq,
        c.starred, c.muted
    ) m
    left join lateral (
  select
    string_agg(u.display_name, ', ' order by u.id) as display_name,
    null::text as image
  from members other
  join users u on u.app_id = other.app_id and u.id = other.user_id
  where c.type = 'messaging'
    and other.channel_id = c.id) peer on true
    left join lateral (
      select msg.*
      from messages msg
      where msg.channel_id = c.id
        and num_nulls(msg.deleted_at) = 1
      order by msg.seq desc
      limit 1
    ) msg on true
    left join users author on author.app_id = msg.app_id and author.id = msg.user_id
    cross join lateral (
      select
        case
          when $21 or c.type = 'messaging' then (
    select coalesce(jsonb_agg(jsonb_build_object(
    'userId', m.user_id, 'user', m.profile, 'role', m.role,
    'custom', coalesce(m.custom, '{}'), 'joinedAt', to_char(m.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  ) order by m.joined_at, m.user_id), '[]')
    from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $22 + coalesce(octet_length(m.custom::text), 0)) over joined as bytes
    from (
    select m.*
    from members m
    where 
    m.channel_id = c.id
    order by m.joined_at, m.user_id
    limit $23) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $24 or measured.place = 1) m
  )::text
        end as members,
        
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $25), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $26) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
      offset 0 -- measured and answered, but made once
    ) more
    window page as (order by c.id desc)
  ) measured
  where measured.bytes <= $27 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.*
  from (
    select
      (row_number() over page)::int as place,
      lead(true) over page as has_next,
      
  coalesce((
    select us.last_offset
    from user_streams us
    where us.app_id = $1
      and us.user_id = $2
  ), 0),
      
  c.id, c.cid, c.type,
  coalesce(c.name, peer.display_name, $3) as name,
  coalesce(c.image, peer.image) as image,
  c.description, c.workspace_id, c.created_by, c.member_count,
  case when m.user_id is null then 0 else 
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $4
        and tc.part >= m.unread_after_seq / $5::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $6::int + 1) * $7::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $8::int + 1) * $9::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $10
      and tc.part > m.unread_after_seq / $11::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $12::int
  ), 0)
    else 0
  end)
    )::int
  end end as unread_count,
  c.rev + coalesce(m.unread_after_seq, c.last_seq) as unread_version,
  coalesce(m.last_read_seq, 0) as last_read_seq,
  m.role,
  coalesce(m.starred, false) as starred,
  coalesce(m.muted, false) as muted,
  c.rev,
  coalesce(c.frozen, false) as frozen,
  c.custom::text,
  c.created_at, nullif(c.updated_at, c.created_at),
      more.members,
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  more.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $13 then $14::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $15),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      sum(
        coalesce(octet_length(c.custom::text), 0)
        + coalesce(octet_length(c.description), 0)
        + coalesce(octet_length(more.members), 0)
        + coalesce(octet_length(more.reactions), 0)
        + coalesce(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0), 0)
      ) over page as bytes
    from (
      select
        c.*,
        m.user_id as member_id, m.role as member_role, m.last_read_seq, m.unread_after_seq,
        m.starred, m.muted
      from channels c
      left join members m on m.channel_id = c.id and m.user_id = $16
      where c.app_id is not distinct from $17
        and num_nulls(c.deleted_at) = 1
        and c.id = $18
    ) c
    cross join lateral (
      select
        c.member_id as user_id, c.member_role as role, c.last_read_seq, c.unread_after_seq,
        c.starred, c.muted
    ) m
    left join lateral (
  select
    string_agg(u.display_name, ', ' order by u.id) as display_name,
    null::text as image
  from members other
  join users u on u.app_id = other.app_id and u.id = other.user_id
  where c.type = 'messaging'
    and other.channel_id = c.id) peer on true
    left join lateral (
      select msg.*
      from messages msg
      where msg.channel_id = c.id
        and num_nulls(msg.deleted_at) = 1
      order by msg.seq desc
      limit 1
    ) msg on true
    left join users author on author.app_id = msg.app_id and author.id = msg.user_id
    cross join lateral (
      select
        case
          when $19 or c.type = 'messaging' then (
    select coalesce(jsonb_agg(jsonb_build_object(
    'userId', m.user_id, 'user', m.profile, 'role', m.role,
    'custom', coalesce(m.custom, '{}'), 'joinedAt', to_char(m.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  ) order by m.joined_at, m.user_id), '[]')
    from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $20 + coalesce(octet_length(m.custom::text), 0)) over joined as bytes
    from (
    select m.*
    from members m
    where 
    m.channel_id = c.id
    order by m.joined_at, m.user_id
    limit $21) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $22 or measured.place = 1) m
  )::text
        end as members,
        
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $23), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $24) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
      offset 0 -- measured and answered, but made once
    ) more
    window page as (order by c.last_activity_at desc, c.id desc)
  ) measured
  where measured.bytes <= $25 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.*
  from (
    select
      (row_number() over page)::int as place,
      lead(true) over page as has_next,
      
  coalesce((
    select us.last_offset
    from user_streams us
    where us.app_id = $1
      and us.user_id = $2
  ), 0),
      
  c.id, c.cid, c.type,
  coalesce(c.name, peer.display_name, $3) as name,
  coalesce(c.image, peer.image) as image,
  c.description, c.workspace_id, c.created_by, c.member_count,
  case when m.user_id is null then 0 else 
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $4
        and tc.part >= m.unread_after_seq / $5::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $6::int + 1) * $7::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $8::int + 1) * $9::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $10
      and tc.part > m.unread_after_seq / $11::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $12::int
  ), 0)
    else 0
  end)
    )::int
  end end as unread_count,
  c.rev + coalesce(m.unread_after_seq, c.last_seq) as unread_version,
  coalesce(m.last_read_seq, 0) as last_read_seq,
  m.role,
  coalesce(m.starred, false) as starred,
  coalesce(m.muted, false) as muted,
  c.rev,
  coalesce(c.frozen, false) as frozen,
  c.custom::text,
  c.created_at, nullif(c.updated_at, c.created_at),
      more.members,
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  more.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $13 then $14::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $15),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      sum(
        coalesce(octet_length(c.custom::text), 0)
        + coalesce(octet_length(c.description), 0)
        + coalesce(octet_length(more.members), 0)
        + coalesce(octet_length(more.reactions), 0)
        + coalesce(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0), 0)
      ) over page as bytes
    from (
      select
        c.*,
        m.user_id as member_id, m.role as member_role, m.last_read_seq, m.unread_after_seq,
        m.starred, m.muted
      from channels c
      left join members m on m.channel_id = c.id and m.user_id = $16
      where c.app_id is not distinct from $17
        and num_nulls(c.deleted_at) = 1
        and c.id = $18 and (
  select (
  m.user_id is not null
  or c.type in ('public', 'livestream')
  or (c.type = 'team' and wm.user_id is not null)
)
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $19
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $20
  
  where c.id = $21
    and c.app_id is not distinct from $22
    and num_nulls(c.deleted_at) = 1
)
    ) c
    cross join lateral (
      select
        c.member_id as user_id, c.member_role as role, c.last_read_seq, c.unread_after_seq,
        c.starred, c.muted
    ) m
    left join lateral (
  select u.display_name, u.image
  from members other
  join users u on u.app_id = other.app_id and u.id = other.user_id
  where c.type = 'messaging'
    and other.channel_id = c.id
    and other.user_id <> $23
  limit 1) peer on true
    left join lateral (
      select msg.*
      from messages msg
      where msg.channel_id = c.id
        and num_nulls(msg.deleted_at) = 1
      order by msg.seq desc
      limit 1
    ) msg on true
    left join users author on author.app_id = msg.app_id and author.id = msg.user_id
    cross join lateral (
      select
        case
          when $24 or c.type = 'messaging' then (
    select coalesce(jsonb_agg(jsonb_build_object(
    'userId', m.user_id, 'user', m.profile, 'role', m.role,
    'custom', coalesce(m.custom, '{}'), 'joinedAt', to_char(m.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  ) order by m.joined_at, m.user_id), '[]')
    from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $25 + coalesce(octet_length(m.custom::text), 0)) over joined as bytes
    from (
    select m.*
    from members m
    where 
    m.channel_id = c.id
    order by m.joined_at, m.user_id
    limit $26) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $27 or measured.place = 1) m
  )::text
        end as members,
        
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $28), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $29) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
      offset 0 -- measured and answered, but made once
    ) more
    window page as (order by c.last_activity_at desc, c.id desc)
  ) measured
  where measured.bytes <= $30 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.*
  from (
    select
      (row_number() over page)::int as place,
      lead(true) over page as has_next,
      
  coalesce((
    select us.last_offset
    from user_streams us
    where us.app_id = $1
      and us.user_id = $2
  ), 0),
      
  c.id, c.cid, c.type,
  coalesce(c.name, peer.display_name, $3) as name,
  coalesce(c.image, peer.image) as image,
  c.description, c.workspace_id, c.created_by, c.member_count,
  case when m.user_id is null then 0 else 
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $4
        and tc.part >= m.unread_after_seq / $5::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $6::int + 1) * $7::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $8::int + 1) * $9::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $10
      and tc.part > m.unread_after_seq / $11::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $12::int
  ), 0)
    else 0
  end)
    )::int
  end end as unread_count,
  c.rev + coalesce(m.unread_after_seq, c.last_seq) as unread_version,
  coalesce(m.last_read_seq, 0) as last_read_seq,
  m.role,
  coalesce(m.starred, false) as starred,
  coalesce(m.muted, false) as muted,
  c.rev,
  coalesce(c.frozen, false) as frozen,
  c.custom::text,
  c.created_at, nullif(c.updated_at, c.created_at),
      more.members,
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  more.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $13 then $14::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $15),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      sum(
        coalesce(octet_length(c.custom::text), 0)
        + coalesce(octet_length(c.description), 0)
        + coalesce(octet_length(more.members), 0)
        + coalesce(octet_length(more.reactions), 0)
        + coalesce(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0), 0)
      ) over page as bytes
    from (
      select
        c.*,
        m.user_id as member_id, m.role as member_role, m.last_read_seq, m.unread_after_seq,
        m.starred, m.muted
      from channels c
      left join members m on m.channel_id = c.id and m.user_id = $16
      where c.app_id is not distinct from $17
        and num_nulls(c.deleted_at) = 1
        and c.id = $18 and (
  select true
  from channels c
  
  left join members m on m.channel_id = c.id and m.user_id = $19
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $20
  
  where c.id = $21
    and c.app_id is not distinct from $22
    and num_nulls(c.deleted_at) = 1
)
    ) c
    cross join lateral (
      select
        c.member_id as user_id, c.member_role as role, c.last_read_seq, c.unread_after_seq,
        c.starred, c.muted
    ) m
    left join lateral (
  select
    string_agg(u.display_name, ', ' order by u.id) as display_name,
    null::text as image
  from members other
  join users u on u.app_id = other.app_id and u.id = other.user_id
  where c.type = 'messaging'
    and other.channel_id = c.id) peer on true
    left join lateral (
      select msg.*
      from messages msg
      where msg.channel_id = c.id
        and num_nulls(msg.deleted_at) = 1
      order by msg.seq desc
      limit 1
    ) msg on true
    left join users author on author.app_id = msg.app_id and author.id = msg.user_id
    cross join lateral (
      select
        case
          when $23 or c.type = 'messaging' then (
    select coalesce(jsonb_agg(jsonb_build_object(
    'userId', m.user_id, 'user', m.profile, 'role', m.role,
    'custom', coalesce(m.custom, '{}'), 'joinedAt', to_char(m.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  ) order by m.joined_at, m.user_id), '[]')
    from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $24 + coalesce(octet_length(m.custom::text), 0)) over joined as bytes
    from (
    select m.*
    from members m
    where 
    m.channel_id = c.id
    order by m.joined_at, m.user_id
    limit $25) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $26 or measured.place = 1) m
  )::text
        end as members,
        
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $27), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $28) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
      offset 0 -- measured and answered, but made once
    ) more
    window page as (order by c.last_activity_at desc, c.id desc)
  ) measured
  where measured.bytes <= $29 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.*
  from (
    select
      (row_number() over page)::int as place,
      lead(true) over page as has_next,
      
  coalesce((
    select us.last_offset
    from user_streams us
    where us.app_id = $1
      and us.user_id = $2
  ), 0),
      
  c.id, c.cid, c.type,
  coalesce(c.name, peer.display_name, $3) as name,
  coalesce(c.image, peer.image) as image,
  c.description, c.workspace_id, c.created_by, c.member_count,
  case when m.user_id is null then 0 else 
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $4
        and tc.part >= m.unread_after_seq / $5::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $6::int + 1) * $7::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $8::int + 1) * $9::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $10
      and tc.part > m.unread_after_seq / $11::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $12::int
  ), 0)
    else 0
  end)
    )::int
  end end as unread_count,
  c.rev + coalesce(m.unread_after_seq, c.last_seq) as unread_version,
  coalesce(m.last_read_seq, 0) as last_read_seq,
  m.role,
  coalesce(m.starred, false) as starred,
  coalesce(m.muted, false) as muted,
  c.rev,
  coalesce(c.frozen, false) as frozen,
  c.custom::text,
  c.created_at, nullif(c.updated_at, c.created_at),
      more.members,
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  more.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $13 then $14::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $15),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      sum(
        coalesce(octet_length(c.custom::text), 0)
        + coalesce(octet_length(c.description), 0)
        + coalesce(octet_length(more.members), 0)
        + coalesce(octet_length(more.reactions), 0)
        + coalesce(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0), 0)
      ) over page as bytes
    from (
      select
        c.*,
        m.user_id as member_id, m.role as member_role, m.last_read_seq, m.unread_after_seq,
        m.starred, m.muted
      from channels c
      left join members m on m.channel_id = c.id and m.user_id = $16
      where c.app_id is not distinct from $17
        and num_nulls(c.deleted_at) = 1
        and c.id = $18 and true
    ) c
    cross join lateral (
      select
        c.member_id as user_id, c.member_role as role, c.last_read_seq, c.unread_after_seq,
        c.starred, c.muted
    ) m
    left join lateral (
  select
    string_agg(u.display_name, ', ' order by u.id) as display_name,
    null::text as image
  from members other
  join users u on u.app_id = other.app_id and u.id = other.user_id
  where c.type = 'messaging'
    and other.channel_id = c.id) peer on true
    left join lateral (
      select msg.*
      from messages msg
      where msg.channel_id = c.id
        and num_nulls(msg.deleted_at) = 1
      order by msg.seq desc
      limit 1
    ) msg on true
    left join users author on author.app_id = msg.app_id and author.id = msg.user_id
    cross join lateral (
      select
        case
          when $19 or c.type = 'messaging' then (
    select coalesce(jsonb_agg(jsonb_build_object(
    'userId', m.user_id, 'user', m.profile, 'role', m.role,
    'custom', coalesce(m.custom, '{}'), 'joinedAt', to_char(m.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  ) order by m.joined_at, m.user_id), '[]')
    from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $20 + coalesce(octet_length(m.custom::text), 0)) over joined as bytes
    from (
    select m.*
    from members m
    where 
    m.channel_id = c.id
    order by m.joined_at, m.user_id
    limit $21) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $22 or measured.place = 1) m
  )::text
        end as members,
        
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $23), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $24) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
      offset 0 -- measured and answered, but made once
    ) more
    window page as (order by c.last_activity_at desc, c.id desc)
  ) measured
  where measured.bytes <= $25 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.*
  from (
    select
      (row_number() over page)::int as place,
      lead(true) over page as has_next,
      
  coalesce((
    select us.last_offset
    from user_streams us
    where us.app_id = $1
      and us.user_id = $2
  ), 0),
      
  c.id, c.cid, c.type,
  coalesce(c.name, peer.display_name, $3) as name,
  coalesce(c.image, peer.image) as image,
  c.description, c.workspace_id, c.created_by, c.member_count,
  case when m.user_id is null then 0 else 
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $4
        and tc.part >= m.unread_after_seq / $5::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $6::int + 1) * $7::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $8::int + 1) * $9::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $10
      and tc.part > m.unread_after_seq / $11::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $12::int
  ), 0)
    else 0
  end)
    )::int
  end end as unread_count,
  c.rev + coalesce(m.unread_after_seq, c.last_seq) as unread_version,
  coalesce(m.last_read_seq, 0) as last_read_seq,
  m.role,
  coalesce(m.starred, false) as starred,
  coalesce(m.muted, false) as muted,
  c.rev,
  coalesce(c.frozen, false) as frozen,
  c.custom::text,
  c.created_at, nullif(c.updated_at, c.created_at),
      more.members,
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  more.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $13 then $14::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $15),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      sum(
        coalesce(octet_length(c.custom::text), 0)
        + coalesce(octet_length(c.description), 0)
        + coalesce(octet_length(more.members), 0)
        + coalesce(octet_length(more.reactions), 0)
        + coalesce(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0), 0)
      ) over page as bytes
    from (
      select
        c.*,
        m.user_id as member_id, m.role as member_role, m.last_read_seq, m.unread_after_seq,
        m.starred, m.muted
      from channels c
      left join members m on m.channel_id = c.id and m.user_id = $16
      where c.app_id is not distinct from $17
        and num_nulls(c.deleted_at) = 1
        and c.id = $18 and true
    ) c
    cross join lateral (
      select
        c.member_id as user_id, c.member_role as role, c.last_read_seq, c.unread_after_seq,
        c.starred, c.muted
    ) m
    left join lateral (
  select u.display_name, u.image
  from members other
  join users u on u.app_id = other.app_id and u.id = other.user_id
  where c.type = 'messaging'
    and other.channel_id = c.id
    and other.user_id <> $19
  limit 1) peer on true
    left join lateral (
      select msg.*
      from messages msg
      where msg.channel_id = c.id
        and num_nulls(msg.deleted_at) = 1
      order by msg.seq desc
      limit 1
    ) msg on true
    left join users author on author.app_id = msg.app_id and author.id = msg.user_id
    cross join lateral (
      select
        case
          when $20 or c.type = 'messaging' then (
    select coalesce(jsonb_agg(jsonb_build_object(
    'userId', m.user_id, 'user', m.profile, 'role', m.role,
    'custom', coalesce(m.custom, '{}'), 'joinedAt', to_char(m.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  ) order by m.joined_at, m.user_id), '[]')
    from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $21 + coalesce(octet_length(m.custom::text), 0)) over joined as bytes
    from (
    select m.*
    from members m
    where 
    m.channel_id = c.id
    order by m.joined_at, m.user_id
    limit $22) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $23 or measured.place = 1) m
  )::text
        end as members,
        
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $24), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $25) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
      offset 0 -- measured and answered, but made once
    ) more
    window page as (order by c.last_activity_at desc, c.id desc)
  ) measured
  where measured.bytes <= $26 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.*
  from (
    select
      (row_number() over page)::int as place,
      lead(true) over page as has_next,
      
  coalesce((
    select us.last_offset
    from user_streams us
    where us.app_id = $1
      and us.user_id = $2
  ), 0),
      
  c.id, c.cid, c.type,
  coalesce(c.name, peer.display_name, $3) as name,
  coalesce(c.image, peer.image) as image,
  c.description, c.workspace_id, c.created_by, c.member_count,
  case when m.user_id is null then 0 else 
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $4
        and tc.part >= m.unread_after_seq / $5::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $6::int + 1) * $7::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $8::int + 1) * $9::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $10
      and tc.part > m.unread_after_seq / $11::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $12::int
  ), 0)
    else 0
  end)
    )::int
  end end as unread_count,
  c.rev + coalesce(m.unread_after_seq, c.last_seq) as unread_version,
  coalesce(m.last_read_seq, 0) as last_read_seq,
  m.role,
  coalesce(m.starred, false) as starred,
  coalesce(m.muted, false) as muted,
  c.rev,
  coalesce(c.frozen, false) as frozen,
  c.custom::text,
  c.created_at, nullif(c.updated_at, c.created_at),
      more.members,
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  more.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $13 then $14::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $15),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      sum(
        coalesce(octet_length(c.custom::text), 0)
        + coalesce(octet_length(c.description), 0)
        + coalesce(octet_length(more.members), 0)
        + coalesce(octet_length(more.reactions), 0)
        + coalesce(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0), 0)
      ) over page as bytes
    from (
      select
        c.*,
        m.user_id as member_id, m.role as member_role, m.last_read_seq, m.unread_after_seq,
        m.starred, m.muted
      from channels c
      left join members m on m.channel_id = c.id and m.user_id = $16
      where c.app_id is not distinct from $17
        and num_nulls(c.deleted_at) = 1
        and c.id = any($18::uuid[]) and num_nulls(m.user_id) = 0
    ) c
    cross join lateral (
      select
        c.member_id as user_id, c.member_role as role, c.last_read_seq, c.unread_after_seq,
        c.starred, c.muted
    ) m
    left join lateral (
  select u.display_name, u.image
  from members other
  join users u on u.app_id = other.app_id and u.id = other.user_id
  where c.type = 'messaging'
    and other.channel_id = c.id
    and other.user_id <> $19
  limit 1) peer on true
    left join lateral (
      select msg.*
      from messages msg
      where msg.channel_id = c.id
        and num_nulls(msg.deleted_at) = 1
      order by msg.seq desc
      limit 1
    ) msg on true
    left join users author on author.app_id = msg.app_id and author.id = msg.user_id
    cross join lateral (
      select
        case
          when $20 or c.type = 'messaging' then (
    select coalesce(jsonb_agg(jsonb_build_object(
    'userId', m.user_id, 'user', m.profile, 'role', m.role,
    'custom', coalesce(m.custom, '{}'), 'joinedAt', to_char(m.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  ) order by m.joined_at, m.user_id), '[]')
    from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $21 + coalesce(octet_length(m.custom::text), 0)) over joined as bytes
    from (
    select m.*
    from members m
    where 
    m.channel_id = c.id
    order by m.joined_at, m.user_id
    limit $22) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $23 or measured.place = 1) m
  )::text
        end as members,
        
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $24), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $25) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
      offset 0 -- measured and answered, but made once
    ) more
    window page as (order by c.last_activity_at desc, c.id desc)
  ) measured
  where measured.bytes <= $26 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.*
  from (
    select
      (row_number() over page)::int as place,
      lead(true) over page as has_next,
      
  coalesce((
    select us.last_offset
    from user_streams us
    where us.app_id = $1
      and us.user_id = $2
  ), 0),
      
  c.id, c.cid, c.type,
  coalesce(c.name, peer.display_name, $3) as name,
  coalesce(c.image, peer.image) as image,
  c.description, c.workspace_id, c.created_by, c.member_count,
  case when m.user_id is null then 0 else 
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $4
        and tc.part >= m.unread_after_seq / $5::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $6::int + 1) * $7::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $8::int + 1) * $9::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $10
      and tc.part > m.unread_after_seq / $11::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $12::int
  ), 0)
    else 0
  end)
    )::int
  end end as unread_count,
  c.rev + coalesce(m.unread_after_seq, c.last_seq) as unread_version,
  coalesce(m.last_read_seq, 0) as last_read_seq,
  m.role,
  coalesce(m.starred, false) as starred,
  coalesce(m.muted, false) as muted,
  c.rev,
  coalesce(c.frozen, false) as frozen,
  c.custom::text,
  c.created_at, nullif(c.updated_at, c.created_at),
      more.members,
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  more.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $13 then $14::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $15),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      sum(
        coalesce(octet_length(c.custom::text), 0)
        + coalesce(octet_length(c.description), 0)
        + coalesce(octet_length(more.members), 0)
        + coalesce(octet_length(more.reactions), 0)
        + coalesce(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0), 0)
      ) over page as bytes
    from (
      select
        c.*,
        m.user_id as member_id, m.role as member_role, m.last_read_seq, m.unread_after_seq,
        m.starred, m.muted
      from channels c
      left join members m on m.channel_id = c.id and m.user_id = $16
      where c.app_id is not distinct from $17
        and num_nulls(c.deleted_at) = 1
        and c.id = any(array(
    select c.id
    from members m
    cross join lateral (
      select *
      from channels
      where id = m.channel_id
        and num_nulls(deleted_at) = 1
      limit 1
    ) c
    where m.app_id = $18
      and m.user_id = $19
      and c.type = $20
      and true
    order by c.last_activity_at desc, c.id desc
    limit $21
    offset $22))
    ) c
    cross join lateral (
      select
        c.member_id as user_id, c.member_role as role, c.last_read_seq, c.unread_after_seq,
        c.starred, c.muted
    ) m
    left join lateral (
  select u.display_name, u.image
  from members other
  join users u on u.app_id = other.app_id and u.id = other.user_id
  where c.type = 'messaging'
    and other.channel_id = c.id
    and other.user_id <> $23
  limit 1) peer on true
    left join lateral (
      select msg.*
      from messages msg
      where msg.channel_id = c.id
        and num_nulls(msg.deleted_at) = 1
      order by msg.seq desc
      limit 1
    ) msg on true
    left join users author on author.app_id = msg.app_id and author.id = msg.user_id
    cross join lateral (
      select
        case
          when $24 or c.type = 'messaging' then (
    select coalesce(jsonb_agg(jsonb_build_object(
    'userId', m.user_id, 'user', m.profile, 'role', m.role,
    'custom', coalesce(m.custom, '{}'), 'joinedAt', to_char(m.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  ) order by m.joined_at, m.user_id), '[]')
    from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $25 + coalesce(octet_length(m.custom::text), 0)) over joined as bytes
    from (
    select m.*
    from members m
    where 
    m.channel_id = c.id
    order by m.joined_at, m.user_id
    limit $26) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $27 or measured.place = 1) m
  )::text
        end as members,
        
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $28), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $29) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
      offset 0 -- measured and answered, but made once
    ) more
    window page as (order by c.last_activity_at desc, c.id desc)
  ) measured
  where measured.bytes <= $30 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.*
  from (
    select
      (row_number() over page)::int as place,
      lead(true) over page as has_next,
      
  coalesce((
    select us.last_offset
    from user_streams us
    where us.app_id = $1
      and us.user_id = $2
  ), 0),
      
  c.id, c.cid, c.type,
  coalesce(c.name, peer.display_name, $3) as name,
  coalesce(c.image, peer.image) as image,
  c.description, c.workspace_id, c.created_by, c.member_count,
  case when m.user_id is null then 0 else 
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $4
        and tc.part >= m.unread_after_seq / $5::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $6::int + 1) * $7::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $8::int + 1) * $9::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $10
      and tc.part > m.unread_after_seq / $11::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $12::int
  ), 0)
    else 0
  end)
    )::int
  end end as unread_count,
  c.rev + coalesce(m.unread_after_seq, c.last_seq) as unread_version,
  coalesce(m.last_read_seq, 0) as last_read_seq,
  m.role,
  coalesce(m.starred, false) as starred,
  coalesce(m.muted, false) as muted,
  c.rev,
  coalesce(c.frozen, false) as frozen,
  c.custom::text,
  c.created_at, nullif(c.updated_at, c.created_at),
      more.members,
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  more.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $13 then $14::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $15),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      sum(
        coalesce(octet_length(c.custom::text), 0)
        + coalesce(octet_length(c.description), 0)
        + coalesce(octet_length(more.members), 0)
        + coalesce(octet_length(more.reactions), 0)
        + coalesce(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0), 0)
      ) over page as bytes
    from (
      select
        c.*,
        m.user_id as member_id, m.role as member_role, m.last_read_seq, m.unread_after_seq,
        m.starred, m.muted
      from channels c
      left join members m on m.channel_id = c.id and m.user_id = $16
      where c.app_id is not distinct from $17
        and num_nulls(c.deleted_at) = 1
        and c.id = any(array(
    select c.id
    from members m
    cross join lateral (
      select *
      from channels
      where id = m.channel_id
        and num_nulls(deleted_at) = 1
      limit 1
    ) c
    where m.app_id = $18
      and m.user_id = $19
      and true
      and coalesce(c.name, (select display_name from (
  select u.display_name, u.image
  from members other
  join users u on u.app_id = other.app_id and u.id = other.user_id
  where c.type = 'messaging'
    and other.channel_id = c.id
    and other.user_id <> $20
  limit 1) peer)) ilike $21
    order by c.last_activity_at desc, c.id desc
    limit $22
    offset $23))
    ) c
    cross join lateral (
      select
        c.member_id as user_id, c.member_role as role, c.last_read_seq, c.unread_after_seq,
        c.starred, c.muted
    ) m
    left join lateral (
  select u.display_name, u.image
  from members other
  join users u on u.app_id = other.app_id and u.id = other.user_id
  where c.type = 'messaging'
    and other.channel_id = c.id
    and other.user_id <> $24
  limit 1) peer on true
    left join lateral (
      select msg.*
      from messages msg
      where msg.channel_id = c.id
        and num_nulls(msg.deleted_at) = 1
      order by msg.seq desc
      limit 1
    ) msg on true
    left join users author on author.app_id = msg.app_id and author.id = msg.user_id
    cross join lateral (
      select
        case
          when $25 or c.type = 'messaging' then (
    select coalesce(jsonb_agg(jsonb_build_object(
    'userId', m.user_id, 'user', m.profile, 'role', m.role,
    'custom', coalesce(m.custom, '{}'), 'joinedAt', to_char(m.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  ) order by m.joined_at, m.user_id), '[]')
    from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $26 + coalesce(octet_length(m.custom::text), 0)) over joined as bytes
    from (
    select m.*
    from members m
    where 
    m.channel_id = c.id
    order by m.joined_at, m.user_id
    limit $27) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $28 or measured.place = 1) m
  )::text
        end as members,
        
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $29), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $30) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
      offset 0 -- measured and answered, but made once
    ) more
    window page as (order by c.last_activity_at desc, c.id desc)
  ) measured
  where measured.bytes <= $31 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.*
  from (
    select
      (row_number() over page)::int as place,
      lead(true) over page as has_next,
      
  coalesce((
    select us.last_offset
    from user_streams us
    where us.app_id = $1
      and us.user_id = $2
  ), 0),
      
  c.id, c.cid, c.type,
  coalesce(c.name, peer.display_name, $3) as name,
  coalesce(c.image, peer.image) as image,
  c.description, c.workspace_id, c.created_by, c.member_count,
  case when m.user_id is null then 0 else 
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $4
        and tc.part >= m.unread_after_seq / $5::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $6::int + 1) * $7::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $8::int + 1) * $9::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $10
      and tc.part > m.unread_after_seq / $11::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $12::int
  ), 0)
    else 0
  end)
    )::int
  end end as unread_count,
  c.rev + coalesce(m.unread_after_seq, c.last_seq) as unread_version,
  coalesce(m.last_read_seq, 0) as last_read_seq,
  m.role,
  coalesce(m.starred, false) as starred,
  coalesce(m.muted, false) as muted,
  c.rev,
  coalesce(c.frozen, false) as frozen,
  c.custom::text,
  c.created_at, nullif(c.updated_at, c.created_at),
      more.members,
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  more.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $13 then $14::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $15),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      sum(
        coalesce(octet_length(c.custom::text), 0)
        + coalesce(octet_length(c.description), 0)
        + coalesce(octet_length(more.members), 0)
        + coalesce(octet_length(more.reactions), 0)
        + coalesce(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0), 0)
      ) over page as bytes
    from (
      select
        c.*,
        m.user_id as member_id, m.role as member_role, m.last_read_seq, m.unread_after_seq,
        m.starred, m.muted
      from channels c
      left join members m on m.channel_id = c.id and m.user_id = $16
      where c.app_id is not distinct from $17
        and num_nulls(c.deleted_at) = 1
        and c.id = any(array(
    select c.id
    from members m
    cross join lateral (
      select *
      from channels
      where id = m.channel_id
        and num_nulls(deleted_at) = 1
      limit 1
    ) c
    where m.app_id = $18
      and m.user_id = $19
      and true
      and true
    order by c.last_activity_at desc, c.id desc
    limit $20
    offset $21))
    ) c
    cross join lateral (
      select
        c.member_id as user_id, c.member_role as role, c.last_read_seq, c.unread_after_seq,
        c.starred, c.muted
    ) m
    left join lateral (
  select u.display_name, u.image
  from members other
  join users u on u.app_id = other.app_id and u.id = other.user_id
  where c.type = 'messaging'
    and other.channel_id = c.id
    and other.user_id <> $22
  limit 1) peer on true
    left join lateral (
      select msg.*
      from messages msg
      where msg.channel_id = c.id
        and num_nulls(msg.deleted_at) = 1
      order by msg.seq desc
      limit 1
    ) msg on true
    left join users author on author.app_id = msg.app_id and author.id = msg.user_id
    cross join lateral (
      select
        case
          when $23 or c.type = 'messaging' then (
    select coalesce(jsonb_agg(jsonb_build_object(
    'userId', m.user_id, 'user', m.profile, 'role', m.role,
    'custom', coalesce(m.custom, '{}'), 'joinedAt', to_char(m.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  ) order by m.joined_at, m.user_id), '[]')
    from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $24 + coalesce(octet_length(m.custom::text), 0)) over joined as bytes
    from (
    select m.*
    from members m
    where 
    m.channel_id = c.id
    order by m.joined_at, m.user_id
    limit $25) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $26 or measured.place = 1) m
  )::text
        end as members,
        
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $27), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $28) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
      offset 0 -- measured and answered, but made once
    ) more
    window page as (order by c.last_activity_at desc, c.id desc)
  ) measured
  where measured.bytes <= $29 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.*
  from (
    select
      (row_number() over page)::int as place,
      lead(true) over page as has_next,
      
  coalesce((
    select us.last_offset
    from user_streams us
    where us.app_id = $1
      and us.user_id = $2
  ), 0),
      
  c.id, c.cid, c.type,
  coalesce(c.name, peer.display_name, $3) as name,
  coalesce(c.image, peer.image) as image,
  c.description, c.workspace_id, c.created_by, c.member_count,
  case when m.user_id is null then 0 else 
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $4
        and tc.part >= m.unread_after_seq / $5::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $6::int + 1) * $7::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $8::int + 1) * $9::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $10
      and tc.part > m.unread_after_seq / $11::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $12::int
  ), 0)
    else 0
  end)
    )::int
  end end as unread_count,
  c.rev + coalesce(m.unread_after_seq, c.last_seq) as unread_version,
  coalesce(m.last_read_seq, 0) as last_read_seq,
  m.role,
  coalesce(m.starred, false) as starred,
  coalesce(m.muted, false) as muted,
  c.rev,
  coalesce(c.frozen, false) as frozen,
  c.custom::text,
  c.created_at, nullif(c.updated_at, c.created_at),
      more.members,
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  more.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $13 then $14::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $15),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      sum(
        coalesce(octet_length(c.custom::text), 0)
        + coalesce(octet_length(c.description), 0)
        + coalesce(octet_length(more.members), 0)
        + coalesce(octet_length(more.reactions), 0)
        + coalesce(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0), 0)
      ) over page as bytes
    from (
      select
        c.*,
        m.user_id as member_id, m.role as member_role, m.last_read_seq, m.unread_after_seq,
        m.starred, m.muted
      from channels c
      left join members m on m.channel_id = c.id and m.user_id = $16
      where c.app_id is not distinct from $17
        and num_nulls(c.deleted_at) = 1
        and c.id = any(array(
    select open.id
    from (
      (
      select hours.id, hours.last_activity_at, hours.name
      from (
        select c.id, c.last_activity_at, c.name
        from channels c
        where c.type = 'public'
          and c.app_id = $18
          and c.deleted_at is null
        order by c.active_hour desc
        fetch first $19 rows with ties
      ) hours
      order by hours.last_activity_at desc, hours.id desc
      limit $20)
      union all
      (
      select hours.id, hours.last_activity_at, hours.name
      from (
        select c.id, c.last_activity_at, c.name
        from channels c
        where c.type = 'livestream'
          and c.app_id = $21
          and c.deleted_at is null
        order by c.active_hour desc
        fetch first $22 rows with ties
      ) hours
      order by hours.last_activity_at desc, hours.id desc
      limit $23)
      union all
      (
    select c.id, c.last_activity_at, c.name
    from workspace_members wm
    join channels c on c.workspace_id = wm.workspace_id
    where wm.app_id = $24
      and wm.user_id = $25
      and c.type = 'team'
      and c.app_id = $26
      and c.deleted_at is null
      and true
    order by c.last_activity_at desc, c.id desc
    limit $27)
    ) open
    order by open.last_activity_at desc, open.id desc
    limit $28
    offset $29))
    ) c
    cross join lateral (
      select
        c.member_id as user_id, c.member_role as role, c.last_read_seq, c.unread_after_seq,
        c.starred, c.muted
    ) m
    left join lateral (
  select u.display_name, u.image
  from members other
  join users u on u.app_id = other.app_id and u.id = other.user_id
  where c.type = 'messaging'
    and other.channel_id = c.id
    and other.user_id <> $30
  limit 1) peer on true
    left join lateral (
      select msg.*
      from messages msg
      where msg.channel_id = c.id
        and num_nulls(msg.deleted_at) = 1
      order by msg.seq desc
      limit 1
    ) msg on true
    left join users author on author.app_id = msg.app_id and author.id = msg.user_id
    cross join lateral (
      select
        case
          when $31 or c.type = 'messaging' then (
    select coalesce(jsonb_agg(jsonb_build_object(
    'userId', m.user_id, 'user', m.profile, 'role', m.role,
    'custom', coalesce(m.custom, '{}'), 'joinedAt', to_char(m.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  ) order by m.joined_at, m.user_id), '[]')
    from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $32 + coalesce(octet_length(m.custom::text), 0)) over joined as bytes
    from (
    select m.*
    from members m
    where 
    m.channel_id = c.id
    order by m.joined_at, m.user_id
    limit $33) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $34 or measured.place = 1) m
  )::text
        end as members,
        
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $35), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $36) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
      offset 0 -- measured and answered, but made once
    ) more
    window page as (order by c.last_activity_at desc, c.id desc)
  ) measured
  where measured.bytes <= $37 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.*
  from (
    select
      (row_number() over page)::int as place,
      lead(true) over page as has_next,
      
  coalesce((
    select us.last_offset
    from user_streams us
    where us.app_id = $1
      and us.user_id = $2
  ), 0),
      
  c.id, c.cid, c.type,
  coalesce(c.name, peer.display_name, $3) as name,
  coalesce(c.image, peer.image) as image,
  c.description, c.workspace_id, c.created_by, c.member_count,
  case when m.user_id is null then 0 else 
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $4
        and tc.part >= m.unread_after_seq / $5::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $6::int + 1) * $7::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $8::int + 1) * $9::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $10
      and tc.part > m.unread_after_seq / $11::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $12::int
  ), 0)
    else 0
  end)
    )::int
  end end as unread_count,
  c.rev + coalesce(m.unread_after_seq, c.last_seq) as unread_version,
  coalesce(m.last_read_seq, 0) as last_read_seq,
  m.role,
  coalesce(m.starred, false) as starred,
  coalesce(m.muted, false) as muted,
  c.rev,
  coalesce(c.frozen, false) as frozen,
  c.custom::text,
  c.created_at, nullif(c.updated_at, c.created_at),
      more.members,
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  more.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $13 then $14::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $15),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      sum(
        coalesce(octet_length(c.custom::text), 0)
        + coalesce(octet_length(c.description), 0)
        + coalesce(octet_length(more.members), 0)
        + coalesce(octet_length(more.reactions), 0)
        + coalesce(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0), 0)
      ) over page as bytes
    from (
      select
        c.*,
        m.user_id as member_id, m.role as member_role, m.last_read_seq, m.unread_after_seq,
        m.starred, m.muted
      from channels c
      left join members m on m.channel_id = c.id and m.user_id = $16
      where c.app_id is not distinct from $17
        and num_nulls(c.deleted_at) = 1
        and c.id = any(array(
    select open.id
    from (
      (
    with first as materialized (
      select listed.*
      from (
        
      select hours.id, hours.last_activity_at, hours.name
      from (
        select c.id, c.last_activity_at, c.name
        from channels c
        where c.type = 'public'
          and c.app_id = $18
          and c.deleted_at is null
        order by c.active_hour desc
        fetch first $19 rows with ties
      ) hours
      order by hours.last_activity_at desc, hours.id desc
      limit $20
      ) listed
      where listed.name ilike $21
      order by last_activity_at desc, id desc
      limit $22
    )
    select first.*
    from first
    where (select count(*) from first) = $23
    union all
    (
      select keyed.*
      from (
      select c.id, c.last_activity_at, c.name
      from channels_named($24, $25, $26) c) keyed
      where (select count(*) from first) < $27
        and keyed.name ilike $28
      order by last_activity_at desc, id desc
      limit $29
    ))
      union all
      (
    with first as materialized (
      select listed.*
      from (
        
      select hours.id, hours.last_activity_at, hours.name
      from (
        select c.id, c.last_activity_at, c.name
        from channels c
        where c.type = 'livestream'
          and c.app_id = $30
          and c.deleted_at is null
        order by c.active_hour desc
        fetch first $31 rows with ties
      ) hours
      order by hours.last_activity_at desc, hours.id desc
      limit $32
      ) listed
      where listed.name ilike $33
      order by last_activity_at desc, id desc
      limit $34
    )
    select first.*
    from first
    where (select count(*) from first) = $35
    union all
    (
      select keyed.*
      from (
      select c.id, c.last_activity_at, c.name
      from channels_named($36, $37, $38) c) keyed
      where (select count(*) from first) < $39
        and keyed.name ilike $40
      order by last_activity_at desc, id desc
      limit $41
    ))
      union all
      (
    select c.id, c.last_activity_at, c.name
    from workspace_members wm
    join channels c on c.workspace_id = wm.workspace_id
    where wm.app_id = $42
      and wm.user_id = $43
      and c.type = 'team'
      and c.app_id = $44
      and c.deleted_at is null
      and c.name ilike $45
    order by c.last_activity_at desc, c.id desc
    limit $46)
    ) open
    order by open.last_activity_at desc, open.id desc
    limit $47
    offset $48))
    ) c
    cross join lateral (
      select
        c.member_id as user_id, c.member_role as role, c.last_read_seq, c.unread_after_seq,
        c.starred, c.muted
    ) m
    left join lateral (
  select u.display_name, u.image
  from members other
  join users u on u.app_id = other.app_id and u.id = other.user_id
  where c.type = 'messaging'
    and other.channel_id = c.id
    and other.user_id <> $49
  limit 1) peer on true
    left join lateral (
      select msg.*
      from messages msg
      where msg.channel_id = c.id
        and num_nulls(msg.deleted_at) = 1
      order by msg.seq desc
      limit 1
    ) msg on true
    left join users author on author.app_id = msg.app_id and author.id = msg.user_id
    cross join lateral (
      select
        case
          when $50 or c.type = 'messaging' then (
    select coalesce(jsonb_agg(jsonb_build_object(
    'userId', m.user_id, 'user', m.profile, 'role', m.role,
    'custom', coalesce(m.custom, '{}'), 'joinedAt', to_char(m.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  ) order by m.joined_at, m.user_id), '[]')
    from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $51 + coalesce(octet_length(m.custom::text), 0)) over joined as bytes
    from (
    select m.*
    from members m
    where 
    m.channel_id = c.id
    order by m.joined_at, m.user_id
    limit $52) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $53 or measured.place = 1) m
  )::text
        end as members,
        
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $54), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $55) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
      offset 0 -- measured and answered, but made once
    ) more
    window page as (order by c.last_activity_at desc, c.id desc)
  ) measured
  where measured.bytes <= $56 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.*
  from (
    select
      (row_number() over page)::int as place,
      lead(true) over page as has_next,
      
  coalesce((
    select us.last_offset
    from user_streams us
    where us.app_id = $1
      and us.user_id = $2
  ), 0),
      
  c.id, c.cid, c.type,
  coalesce(c.name, peer.display_name, $3) as name,
  coalesce(c.image, peer.image) as image,
  c.description, c.workspace_id, c.created_by, c.member_count,
  case when m.user_id is null then 0 else 
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $4
        and tc.part >= m.unread_after_seq / $5::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $6::int + 1) * $7::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $8::int + 1) * $9::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $10
      and tc.part > m.unread_after_seq / $11::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $12::int
  ), 0)
    else 0
  end)
    )::int
  end end as unread_count,
  c.rev + coalesce(m.unread_after_seq, c.last_seq) as unread_version,
  coalesce(m.last_read_seq, 0) as last_read_seq,
  m.role,
  coalesce(m.starred, false) as starred,
  coalesce(m.muted, false) as muted,
  c.rev,
  coalesce(c.frozen, false) as frozen,
  c.custom::text,
  c.created_at, nullif(c.updated_at, c.created_at),
      more.members,
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  more.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $13 then $14::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $15),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      sum(
        coalesce(octet_length(c.custom::text), 0)
        + coalesce(octet_length(c.description), 0)
        + coalesce(octet_length(more.members), 0)
        + coalesce(octet_length(more.reactions), 0)
        + coalesce(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0), 0)
      ) over page as bytes
    from (
      select
        c.*,
        m.user_id as member_id, m.role as member_role, m.last_read_seq, m.unread_after_seq,
        m.starred, m.muted
      from channels c
      left join members m on m.channel_id = c.id and m.user_id = $16
      where c.app_id is not distinct from $17
        and num_nulls(c.deleted_at) = 1
        and c.id = any(array(
    select open.id
    from (
      (select id, last_activity_at, name from channels where false)
      union all
      (
      select hours.id, hours.last_activity_at, hours.name
      from (
        select c.id, c.last_activity_at, c.name
        from channels c
        where c.type = 'livestream'
          and c.app_id = $18
          and c.deleted_at is null
        order by c.active_hour desc
        fetch first $19 rows with ties
      ) hours
      order by hours.last_activity_at desc, hours.id desc
      limit $20)
      union all
      (select id, last_activity_at, name from channels where false)
    ) open
    order by open.last_activity_at desc, open.id desc
    limit $21
    offset $22))
    ) c
    cross join lateral (
      select
        c.member_id as user_id, c.member_role as role, c.last_read_seq, c.unread_after_seq,
        c.starred, c.muted
    ) m
    left join lateral (
  select u.display_name, u.image
  from members other
  join users u on u.app_id = other.app_id and u.id = other.user_id
  where c.type = 'messaging'
    and other.channel_id = c.id
    and other.user_id <> $23
  limit 1) peer on true
    left join lateral (
      select msg.*
      from messages msg
      where msg.channel_id = c.id
        and num_nulls(msg.deleted_at) = 1
      order by msg.seq desc
      limit 1
    ) msg on true
    left join users author on author.app_id = msg.app_id and author.id = msg.user_id
    cross join lateral (
      select
        case
          when $24 or c.type = 'messaging' then (
    select coalesce(jsonb_agg(jsonb_build_object(
    'userId', m.user_id, 'user', m.profile, 'role', m.role,
    'custom', coalesce(m.custom, '{}'), 'joinedAt', to_char(m.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  ) order by m.joined_at, m.user_id), '[]')
    from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $25 + coalesce(octet_length(m.custom::text), 0)) over joined as bytes
    from (
    select m.*
    from members m
    where 
    m.channel_id = c.id
    order by m.joined_at, m.user_id
    limit $26) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $27 or measured.place = 1) m
  )::text
        end as members,
        
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $28), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $29) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
      offset 0 -- measured and answered, but made once
    ) more
    window page as (order by c.last_activity_at desc, c.id desc)
  ) measured
  where measured.bytes <= $30 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.*
  from (
    select
      (row_number() over page)::int as place,
      lead(true) over page as has_next,
      
  coalesce((
    select us.last_offset
    from user_streams us
    where us.app_id = $1
      and us.user_id = $2
  ), 0),
      
  c.id, c.cid, c.type,
  coalesce(c.name, peer.display_name, $3) as name,
  coalesce(c.image, peer.image) as image,
  c.description, c.workspace_id, c.created_by, c.member_count,
  case when m.user_id is null then 0 else 
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $4
        and tc.part >= m.unread_after_seq / $5::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $6::int + 1) * $7::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $8::int + 1) * $9::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $10
      and tc.part > m.unread_after_seq / $11::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $12::int
  ), 0)
    else 0
  end)
    )::int
  end end as unread_count,
  c.rev + coalesce(m.unread_after_seq, c.last_seq) as unread_version,
  coalesce(m.last_read_seq, 0) as last_read_seq,
  m.role,
  coalesce(m.starred, false) as starred,
  coalesce(m.muted, false) as muted,
  c.rev,
  coalesce(c.frozen, false) as frozen,
  c.custom::text,
  c.created_at, nullif(c.updated_at, c.created_at),
      more.members,
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  more.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $13 then $14::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $15),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      sum(
        coalesce(octet_length(c.custom::text), 0)
        + coalesce(octet_length(c.description), 0)
        + coalesce(octet_length(more.members), 0)
        + coalesce(octet_length(more.reactions), 0)
        + coalesce(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0), 0)
      ) over page as bytes
    from (
      select
        c.*,
        m.user_id as member_id, m.role as member_role, m.last_read_seq, m.unread_after_seq,
        m.starred, m.muted
      from channels c
      left join members m on m.channel_id = c.id and m.user_id = $16
      where c.app_id is not distinct from $17
        and num_nulls(c.deleted_at) = 1
        and c.id = any(array(
    select open.id
    from (
      (select id, last_activity_at, name from channels where false)
      union all
      (
    with first as materialized (
      select listed.*
      from (
        
      select hours.id, hours.last_activity_at, hours.name
      from (
        select c.id, c.last_activity_at, c.name
        from channels c
        where c.type = 'livestream'
          and c.app_id = $18
          and c.deleted_at is null
        order by c.active_hour desc
        fetch first $19 rows with ties
      ) hours
      order by hours.last_activity_at desc, hours.id desc
      limit $20
      ) listed
      where listed.name ilike $21
      order by last_activity_at desc, id desc
      limit $22
    )
    select first.*
    from first
    where (select count(*) from first) = $23
    union all
    (
      select keyed.*
      from (
      select c.id, c.last_activity_at, c.name
      from channels_named($24, $25, $26) c) keyed
      where (select count(*) from first) < $27
        and keyed.name ilike $28
      order by last_activity_at desc, id desc
      limit $29
    ))
      union all
      (select id, last_activity_at, name from channels where false)
    ) open
    order by open.last_activity_at desc, open.id desc
    limit $30
    offset $31))
    ) c
    cross join lateral (
      select
        c.member_id as user_id, c.member_role as role, c.last_read_seq, c.unread_after_seq,
        c.starred, c.muted
    ) m
    left join lateral (
  select u.display_name, u.image
  from members other
  join users u on u.app_id = other.app_id and u.id = other.user_id
  where c.type = 'messaging'
    and other.channel_id = c.id
    and other.user_id <> $32
  limit 1) peer on true
    left join lateral (
      select msg.*
      from messages msg
      where msg.channel_id = c.id
        and num_nulls(msg.deleted_at) = 1
      order by msg.seq desc
      limit 1
    ) msg on true
    left join users author on author.app_id = msg.app_id and author.id = msg.user_id
    cross join lateral (
      select
        case
          when $33 or c.type = 'messaging' then (
    select coalesce(jsonb_agg(jsonb_build_object(
    'userId', m.user_id, 'user', m.profile, 'role', m.role,
    'custom', coalesce(m.custom, '{}'), 'joinedAt', to_char(m.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  ) order by m.joined_at, m.user_id), '[]')
    from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $34 + coalesce(octet_length(m.custom::text), 0)) over joined as bytes
    from (
    select m.*
    from members m
    where 
    m.channel_id = c.id
    order by m.joined_at, m.user_id
    limit $35) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $36 or measured.place = 1) m
  )::text
        end as members,
        
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $37), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $38) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
      offset 0 -- measured and answered, but made once
    ) more
    window page as (order by c.last_activity_at desc, c.id desc)
  ) measured
  where measured.bytes <= $39 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.*
  from (
    select
      (row_number() over page)::int as place,
      lead(true) over page as has_next,
      
  coalesce((
    select us.last_offset
    from user_streams us
    where us.app_id = $1
      and us.user_id = $2
  ), 0),
      
  c.id, c.cid, c.type,
  coalesce(c.name, peer.display_name, $3) as name,
  coalesce(c.image, peer.image) as image,
  c.description, c.workspace_id, c.created_by, c.member_count,
  case when m.user_id is null then 0 else 
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - 
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and 
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)
      - (
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = $4
        and tc.part >= m.unread_after_seq / $5::int
    )
    then
      
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $6::int + 1) * $7::int
  )
      + 
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.silent and num_nulls(msg.deleted_at) = 1
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / $8::int + 1) * $9::int
  )
      + 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = $10
      and tc.part > m.unread_after_seq / $11::int
  ), 0)
      - 
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = m.user_id
      and tc.part > m.unread_after_seq / $12::int
  ), 0)
    else 0
  end)
    )::int
  end end as unread_count,
  c.rev + coalesce(m.unread_after_seq, c.last_seq) as unread_version,
  coalesce(m.last_read_seq, 0) as last_read_seq,
  m.role,
  coalesce(m.starred, false) as starred,
  coalesce(m.muted, false) as muted,
  c.rev,
  coalesce(c.frozen, false) as frozen,
  c.custom::text,
  c.created_at, nullif(c.updated_at, c.created_at),
      more.members,
      
  msg.id, msg.channel_id, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  more.reactions::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false),
  
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (
  case when msg.quoted_id is not null then (
    select 
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = $13 then $14::text::json
      else json_build_object('id', quoted_author.id, 'name', quoted_author.display_name, 'image', quoted_author.image)
    end,
    'text', left(quoted.text, $15),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', to_char(quoted.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = msg.quoted_id
      and quoted.app_id = msg.app_id
      and quoted.channel_id = msg.channel_id
  ) end)::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted,
      sum(
        coalesce(octet_length(c.custom::text), 0)
        + coalesce(octet_length(c.description), 0)
        + coalesce(octet_length(more.members), 0)
        + coalesce(octet_length(more.reactions), 0)
        + coalesce(
  octet_length(msg.text)
  + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
  + coalesce(octet_length(msg.link_previews::text), 0)
  + coalesce(octet_length(msg.custom::text), 0), 0)
      ) over page as bytes
    from (
      select
        c.*,
        m.user_id as member_id, m.role as member_role, m.last_read_seq, m.unread_after_seq,
        m.starred, m.muted
      from channels c
      left join members m on m.channel_id = c.id and m.user_id = $16
      where c.app_id is not distinct from $17
        and num_nulls(c.deleted_at) = 1
        and c.id = any(array(
    select open.id
    from (
      (select id, last_activity_at, name from channels where false)
      union all
      (select id, last_activity_at, name from channels where false)
      union all
      (
    select c.id, c.last_activity_at, c.name
    from workspace_members wm
    join channels c on c.workspace_id = wm.workspace_id
    where wm.app_id = $18
      and wm.user_id = $19
      and c.type = 'team'
      and c.app_id = $20
      and c.deleted_at is null
      and true
    order by c.last_activity_at desc, c.id desc
    limit $21)
    ) open
    order by open.last_activity_at desc, open.id desc
    limit $22
    offset $23))
    ) c
    cross join lateral (
      select
        c.member_id as user_id, c.member_role as role, c.last_read_seq, c.unread_after_seq,
        c.starred, c.muted
    ) m
    left join lateral (
  select u.display_name, u.image
  from members other
  join users u on u.app_id = other.app_id and u.id = other.user_id
  where c.type = 'messaging'
    and other.channel_id = c.id
    and other.user_id <> $24
  limit 1) peer on true
    left join lateral (
      select msg.*
      from messages msg
      where msg.channel_id = c.id
        and num_nulls(msg.deleted_at) = 1
      order by msg.seq desc
      limit 1
    ) msg on true
    left join users author on author.app_id = msg.app_id and author.id = msg.user_id
    cross join lateral (
      select
        case
          when $25 or c.type = 'messaging' then (
    select coalesce(jsonb_agg(jsonb_build_object(
    'userId', m.user_id, 'user', m.profile, 'role', m.role,
    'custom', coalesce(m.custom, '{}'), 'joinedAt', to_char(m.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  ) order by m.joined_at, m.user_id), '[]')
    from (
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as place,
      lead(true) over joined as has_next,
      sum(
  octet_length(more.profile::text) + octet_length(m.user_id) + $26 + coalesce(octet_length(m.custom::text), 0)) over joined as bytes
    from (
    select m.*
    from members m
    where 
    m.channel_id = c.id
    order by m.joined_at, m.user_id
    limit $27) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= $28 or measured.place = 1) m
  )::text
        end as members,
        
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = $29), false) as own,
        min(r.created_at) as first,
        jsonb_agg(jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) order by r.rank)
          filter (where r.rank <= $30) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end::text as reactions
      offset 0 -- measured and answered, but made once
    ) more
    window page as (order by c.last_activity_at desc, c.id desc)
  ) measured
  where measured.bytes <= $31 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.first, measured.second, measured.data, measured.found
  from (
    select
      part.*,
      (count(*) over ())::int as found,
      sum(coalesce(octet_length(part.data::text), 0)) over (order by part.place) as bytes
    from (
        select
          row_number() over (order by d.id) as place,
          d.id::text as first, '0' as second, jsonb_build_object(
      'id', d.id, 'platform', d.platform, 'provider', d.provider,
      'deviceId', d.device_id, 'appVersion', d.app_version,
      'createdAt', to_char(d.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'updatedAt', to_char(d.updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    ) as data
        from devices d
        where d.app_id = $1
          and d.user_id = $2
          and d.id > $3
        order by d.id
        limit $4) part
  ) measured
  where measured.bytes <= $5 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.first, measured.second, measured.data, measured.found
  from (
    select
      part.*,
      (count(*) over ())::int as found,
      sum(coalesce(octet_length(part.data::text), 0)) over (order by part.place) as bytes
    from (
        select
          row_number() over (order by fm.channel_id) as place,
          fm.channel_id::text as first, '0' as second, jsonb_build_object(
      'channelId', fm.channel_id, 'isCreator', (
  "c"."created_by" = $1
  and (
  "c"."created_at" >= (
    select coalesce(u.reused_at, '-infinity')
    from users u
    where u.app_id = $2
      and u.id = $3
  )
)
)
    ) as data
        from former_members fm
        join channels c on c.id = fm.channel_id and c.deleted_at is null
        where fm.app_id = $4
          and fm.user_id = $5
          and fm.channel_id > $6
        order by fm.channel_id
        limit $7) part
  ) measured
  where measured.bytes <= $8 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.first, measured.second, measured.data, measured.found
  from (
    select
      part.*,
      (count(*) over ())::int as found,
      sum(coalesce(octet_length(part.data::text), 0)) over (order by part.place) as bytes
    from (
        select
          row_number() over (order by found.channel_id, found.seq) as place,
          found.channel_id::text as first, found.seq::text as second, case
      when msg.deleted_at is null or msg.deleted_at >= (
        select u.created_at
        from users u
        where u.app_id = $1
          and u.id = $2
      )
      then jsonb_build_object(
        'id', msg.id, 'channelId', msg.channel_id, 'seq', msg.seq,
        'parentId', msg.parent_id, 'quotedMessageId', msg.quoted_id,
        'text', msg.text, 'mentions', msg.mentions, 'attachments', msg.attachments,
        'custom', msg.custom, 'clientId', msg.client_id,
        'createdAt', to_char(msg.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'editedAt', to_char(msg.edited_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'deletedAt', to_char(msg.deleted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
      )
    end as data
        from (
          select own.id as channel_id, key.seq
          from unnest($3::uuid[]) own (id)
          cross join lateral (
      select msg.seq
      from messages msg
      where msg.channel_id = own.id
        and msg.user_id collate "C" = $4
        and msg.seq > (case when own.id = $5 then $6::int else 0 end)
      order by msg.seq limit $7) key
          order by own.id, key.seq
          limit $8
        ) found
        join messages msg on msg.channel_id = found.channel_id and msg.seq = found.seq) part
  ) measured
  where measured.bytes <= $9 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.first, measured.second, measured.data, measured.found
  from (
    select
      part.*,
      (count(*) over ())::int as found,
      sum(coalesce(octet_length(part.data::text), 0)) over (order by part.place) as bytes
    from (
        select
          row_number() over (order by found.channel_id, found.seq) as place,
          found.channel_id::text as first, found.seq::text as second, jsonb_build_object(
      'channelId', p.channel_id, 'messageId', p.message_id,
      'pinnedAt', to_char(p.pinned_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    ) as data
        from (
          select own.id as channel_id, key.seq
          from unnest($1::uuid[]) own (id)
          cross join lateral (
      select msg.seq
      from pins p
      join messages msg on msg.id = p.message_id
      where p.channel_id = own.id
        and p.pinned_by = $2
        and (
  p.pinned_at >= (
    select coalesce(u.reused_at, '-infinity')
    from users u
    where u.app_id = $3
      and u.id = $4
  )
)
        and msg.seq > (case when own.id = $5 then $6::int else 0 end)
      order by msg.seq limit $7) key
          order by own.id, key.seq
          limit $8
        ) found
        join messages msg on msg.channel_id = found.channel_id and msg.seq = found.seq
        join pins p on p.message_id = msg.id) part
  ) measured
  where measured.bytes <= $9 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.first, measured.second, measured.data, measured.found
  from (
    select
      part.*,
      (count(*) over ())::int as found,
      sum(coalesce(octet_length(part.data::text), 0)) over (order by part.place) as bytes
    from (
        select
          row_number() over (order by found.channel_id, found.seq) as place,
          found.channel_id::text as first, found.seq::text as second, jsonb_build_object(
      'channelId', rm.channel_id, 'seq', rm.seq, 'readAt', to_char(rm.read_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    ) as data
        from (
          select own.id as channel_id, key.seq
          from unnest($1::uuid[]) own (id)
          cross join lateral (
      select rm.seq
      from read_marks rm
      where rm.channel_id = own.id
        and rm.user_id = $2
        and rm.seq > (case when own.id = $3 then $4::int else 0 end)
      order by rm.seq limit $5) key
          order by own.id, key.seq
          limit $6
        ) found
        join read_marks rm
          on rm.channel_id = found.channel_id
          and rm.user_id = $7
          and rm.seq = found.seq) part
  ) measured
  where measured.bytes <= $8 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.first, measured.second, measured.data, measured.found
  from (
    select
      part.*,
      (count(*) over ())::int as found,
      sum(coalesce(octet_length(part.data::text), 0)) over (order by part.place) as bytes
    from (
        select
          row_number() over (order by m.channel_id) as place,
          m.channel_id::text as first, '0' as second, jsonb_build_object(
      'channelId', m.channel_id, 'role', m.role, 'lastReadSeq', m.last_read_seq,
      'starred', m.starred, 'muted', m.muted, 'custom', m.custom,
      'isCreator', (
  "c"."created_by" = $1
  and (
  "c"."created_at" >= (
    select coalesce(u.reused_at, '-infinity')
    from users u
    where u.app_id = $2
      and u.id = $3
  )
)
),
      'joinedAt', to_char(m.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    ) as data
        from members m
        join channels c on c.id = m.channel_id and c.deleted_at is null
        where m.app_id = $4
          and m.user_id = $5
          and m.channel_id > $6
        order by m.channel_id
        limit $7) part
  ) measured
  where measured.bytes <= $8 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.first, measured.second, measured.data, measured.found
  from (
    select
      part.*,
      (count(*) over ())::int as found,
      sum(coalesce(octet_length(part.data::text), 0)) over (order by part.place) as bytes
    from (
        select
          row_number() over (order by r.message_id, r.emoji) as place,
          r.message_id::text as first, r.emoji as second,
          jsonb_build_object(
            'messageId', r.message_id, 'emoji', r.emoji,
            'createdAt', to_char(r.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
          ) as data
        from reactions r
        join messages msg on msg.id = r.message_id
        join channels c on c.id = msg.channel_id and c.deleted_at is null
        where r.app_id = $1
          and r.user_id = $2
          and (r.message_id, r.emoji) > ($3, $4)
        order by r.message_id, r.emoji
        limit $5) part
  ) measured
  where measured.bytes <= $6 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.first, measured.second, measured.data, measured.found
  from (
    select
      part.*,
      (count(*) over ())::int as found,
      sum(coalesce(octet_length(part.data::text), 0)) over (order by part.place) as bytes
    from (
        select
          row_number() over (order by wi.id) as place,
          wi.id::text as first, '0' as second, jsonb_build_object(
      'inviteId', wi.id, 'workspaceId', wi.workspace_id, 'role', wi.role, 'uses', wi.uses,
      'createdAt', to_char(wi.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'expiresAt', to_char(wi.expires_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    ) as data
        from workspace_invites wi
        where wi.app_id = $1
          and wi.created_by = $2
          and (
  wi.created_at >= (
    select coalesce(u.reused_at, '-infinity')
    from users u
    where u.app_id = $3
      and u.id = $4
  )
)
          and wi.id > $5
        order by wi.id
        limit $6) part
  ) measured
  where measured.bytes <= $7 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.first, measured.second, measured.data, measured.found
  from (
    select
      part.*,
      (count(*) over ())::int as found,
      sum(coalesce(octet_length(part.data::text), 0)) over (order by part.place) as bytes
    from (
        select
          row_number() over (order by wiu.invite_id) as place,
          wiu.invite_id::text as first, '0' as second, jsonb_build_object(
      'inviteId', wiu.invite_id, 'workspaceId', wi.workspace_id,
      'usedAt', to_char(wiu.used_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    ) as data
        from workspace_invite_uses wiu
        join workspace_invites wi on wi.id = wiu.invite_id
        where wiu.app_id = $1
          and wiu.user_id = $2
          and wiu.invite_id > $3
        order by wiu.invite_id
        limit $4) part
  ) measured
  where measured.bytes <= $5 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.first, measured.second, measured.data, measured.found
  from (
    select
      part.*,
      (count(*) over ())::int as found,
      sum(coalesce(octet_length(part.data::text), 0)) over (order by part.place) as bytes
    from (
        select
          row_number() over (order by wm.workspace_id) as place,
          wm.workspace_id::text as first, '0' as second, jsonb_build_object(
      'workspaceId', wm.workspace_id, 'role', wm.role,
      'isCreator', (
  "w"."created_by" = $1
  and (
  "w"."created_at" >= (
    select coalesce(u.reused_at, '-infinity')
    from users u
    where u.app_id = $2
      and u.id = $3
  )
)
),
      'joinedAt', to_char(wm.joined_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    ) as data
        from workspace_members wm
        join workspaces w on w.id = wm.workspace_id
        where wm.app_id = $4
          and wm.user_id = $5
          and wm.workspace_id > $6
        order by wm.workspace_id
        limit $7) part
  ) measured
  where measured.bytes <= $8 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.first, measured.second, measured.data, measured.found
  from (
    select
      part.*,
      (count(*) over ())::int as found,
      sum(coalesce(octet_length(part.data::text), 0)) over (order by part.place) as bytes
    from (
        select 1 as place, $1 as first, '0' as second, jsonb_build_object(
      'chosen', pref.chosen, 'updatedAt', to_char(pref.updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    ) as data
        from preferences pref
        where pref.app_id = $2
          and pref.user_id = $3) part
  ) measured
  where measured.bytes <= $4 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select measured.first, measured.second, measured.data, measured.found
  from (
    select
      part.*,
      (count(*) over ())::int as found,
      sum(coalesce(octet_length(part.data::text), 0)) over (order by part.place) as bytes
    from (
        select 1 as place, $1 as first, '0' as second, jsonb_build_object(
      'id', u.id, 'name', u.name, 'email', u.email, 'image', u.image, 'custom', u.custom,
      'lastActiveAt', to_char(u.last_active_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'createdAt', to_char(u.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'updatedAt', to_char(u.updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    ) as data
        from users u
        where u.app_id = $2
          and u.id = $3) part
  ) measured
  where measured.bytes <= $4 or measured.place = 1
  order by measured.place
--> statement-breakpoint

  select min(aud.id)::text as oldest, max(aud.id)::text as newest, count(*)::int as count
  from (
    select aud.id
    from audit aud
    where aud.app_id = any(array[$1::uuid])
      and aud.id < $2::bigint
    order by aud.app_id desc, aud.id desc
    limit $3
  ) aud
  having count(*) > 0
--> statement-breakpoint

  select min(aud.id)::text as oldest, max(aud.id)::text as newest, count(*)::int as count
  from (
    select aud.id
    from audit aud
    where aud.app_id = any(array[$1::uuid])
      and true
    order by aud.app_id desc, aud.id desc
    limit $2
  ) aud
  having count(*) > 0
--> statement-breakpoint

  select min(aud.id)::text as oldest, max(aud.id)::text as newest, count(*)::int as count
  from (
    select aud.id
    from audit aud
    where true
      and aud.id < $1::bigint
    order by aud.id desc
    limit $2
  ) aud
  having count(*) > 0
--> statement-breakpoint

  select min(aud.id)::text as oldest, max(aud.id)::text as newest, count(*)::int as count
  from (
    select aud.id
    from audit aud
    where true
      and true
    order by aud.id desc
    limit $1
  ) aud
  having count(*) > 0
--> statement-breakpoint

  select oldest.*, clock_timestamp() as now
  from (
    select *
    from messages msg
    where msg.channel_id = $1
      and num_nulls(msg.deleted_at) = 1
    order by msg.seq
    limit $2
  ) oldest
  where oldest.created_at < now() - $3 * interval '1 day'
  order by oldest.seq
--> statement-breakpoint

  select role
  from members
  where channel_id = $1
    and user_id = $2
--> statement-breakpoint

  select set_config('lock_timeout', (s.setting::int / 4)::text, false)
  from pg_settings s
  where s.name = 'statement_timeout'
--> statement-breakpoint

  select set_config(name, '0', false)
  from pg_settings
  where name in ('statement_timeout', 'transaction_timeout')
--> statement-breakpoint

  select target.app_id, target.channel_id, target.user_id, target.state
  from (
    select target.*, 
  case
    when c.deleted_at is null then 'live'
    when c.deleted_at = 'infinity' then 'importing'
    else 'deleted'
  end as state
    from unnest($1::text[]) given (user_id)
    
  join users u
    on u.app_id = $2
    and u.id = given.user_id
    and u.deleted_at is not null
    and u.forgotten_at is null
    cross join lateral (
      
  select of_user.app_id, of_user.channel_id, of_user.user_id
  from members of_user
  where of_user.app_id = $3
    and of_user.user_id = given.user_id
    and of_user.channel_id <> all($4::uuid[])
      union all
      
  select of_user.app_id, of_user.channel_id, of_user.user_id
  from former_members of_user
  where of_user.app_id = $5
    and of_user.user_id = given.user_id
    and of_user.channel_id <> all($6::uuid[])
    ) target
    join channels c on c.id = target.channel_id
    limit $7
  ) target
  order by random()
--> statement-breakpoint

  select u.id
  from users u
  where u.app_id = $1
    and u.id = $2
    and u.deleted_at is null
--> statement-breakpoint

  select u.id as user_id, (u.deleted_at || ' ' || u.id) as deletion
  from unnest($1::text[]) given (user_id)
  
  join users u
    on u.app_id = $2
    and u.id = given.user_id
    and u.deleted_at is not null
    and u.forgotten_at is null
  where exists (
      select
      from members m
      where m.channel_id = $3
        and m.user_id = u.id
    )
    or exists (
      select
      from former_members fm
      where fm.channel_id = $4
        and fm.user_id = u.id
    )
  order by random()
--> statement-breakpoint

  select u.id, u.display_name as name, u.image
  from users u
  where u.app_id = $1
    and u.id = any($2)
    and u.deleted_at is null
  order by u.id
  
--> statement-breakpoint

  select u.id, u.display_name as name, u.image
  from users u
  where u.app_id = $1
    and u.id = any($2)
    and u.deleted_at is null
  order by u.id
  for key share
--> statement-breakpoint

  select within.id
  from (
    select id
    from channels c
    where (
    c.app_id = any(array[$1::uuid])
    and (c.app_id, c.id) > ($2::uuid, $3::uuid)
    
    and (c.app_id, c.id) <= ($4::uuid, $5::uuid)
  )
      and deleted_at is null
    order by app_id, id
  ) within
  cross join lateral (
    select msg.created_at
    from messages msg
    where msg.channel_id = within.id
      and num_nulls(msg.deleted_at) = 1
    order by msg.seq
    limit 1
  ) oldest
  where oldest.created_at < now() - $6 * interval '1 day'
--> statement-breakpoint

  update channels
  set deleted_at = now()
  where id in (
    select c.id
    from channels c
    where c.deleted_at = 'infinity'
      and c.updated_at < now() - $1 * interval '1 day'
    limit $2
  )
    and deleted_at = 'infinity'
    and updated_at < now() - $3 * interval '1 day'
--> statement-breakpoint

  update members m
  set role = 'owner'
  from users u
  where u.app_id = m.app_id
    and u.id = m.user_id
    and m.channel_id = $1
    and m.user_id = (
  select coalesce(
    (
      select next.user_id
      from members next
      where next.channel_id = $2::uuid
        and next.role = 'moderator'
      order by next.joined_at, next.user_id
      limit 1
    ),
    (
      select next.user_id
      from members next
      where next.channel_id = $3::uuid
      order by next.joined_at, next.user_id
      limit 1
    )
  )
  where not exists (
    select
    from members owning
    where owning.channel_id = $4::uuid
      and owning.role = 'owner'
  ))
  returning jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as "user", coalesce(m.custom, '{}') as custom
--> statement-breakpoint

  update workspace_members wm
  set role = 'owner'
  where (workspace_id, user_id) in (
    select distinct on (workspace_id) workspace_id, user_id
    from workspace_members heir
    where workspace_id = any($1::uuid[])
      and not exists (
        select from workspace_members owner
        where owner.workspace_id = heir.workspace_id
          and owner.role = 'owner'
      )
    order by workspace_id, role = 'admin' desc, joined_at, user_id
  )
--> statement-breakpoint

  with abandoned as (
    delete from app_imports
    where app_id in (
      select a.id
      from apps a
      where a.deleted_at = 'infinity'
        and app_imports.updated_at < now() - $1 * interval '1 day'
    )
    returning app_id
  )
  update apps
  set deleted_at = '-infinity'
  where id in (
    select app_id
    from abandoned
  )
--> statement-breakpoint

  with ahead as (
    update nodes
    set beat_at = now()
    where beat_at > now() + $1 * interval '1 millisecond'
      and beat_at < now() + interval '1 day'
  )
  select n.id
  from nodes own
  join nodes n on n.beat_at < now() - $2 * interval '1 millisecond'
  where own.id = $3
    and own.beat_at > now() - $4 * interval '1 millisecond'
--> statement-breakpoint

  with devices as (
    delete from devices
    where app_id = $1
      and user_id = any($2)
  ),
  preferences as (
    delete from preferences
    where app_id = $3
      and user_id = any($4)
  )
  update users
  set
    name = null, email = null, image = null, custom = '{}',
    last_active_at = null, profile_changed_at = null, token_generation = token_generation + 1,
    updated_at = clock_timestamp(), deleted_at = clock_timestamp()
  where app_id = $5
    and id = any($6)
--> statement-breakpoint

  with due as materialized (
  select ir.*
  from unnest($1::uuid[]) as given (id)
  cross join lateral (
    select *
    from imported_rows ir
    where ir.channel_id = given.id
      and ir.record = $2
      and ir.app_id is not distinct from $3
    order by ir.created_at, ir.position
    limit $4
  ) ir
  limit $5),
  taken as (
  delete from imported_rows
  where app_id = $6
    and record = $7
    and key = any(array(select due.key from due))),
  author as materialized (
    select
      found.channel_id, u.id,
      u.deleted_at is not null and u.id <> $8 as is_deleted,
      coalesce(
        (
          select msg.author_seq
          from messages msg
          where msg.channel_id = found.channel_id
            and msg.user_id collate "C" = u.id
          order by msg.seq desc
          limit 1
        ),
        0
      ) as last_author_seq
    from (select distinct channel_id, "row" ->> 'userId' as user_id from due) found
    join users u on u.app_id = $9 and u.id = found.user_id
  ),
  numbered as materialized (
    select
      due.key::uuid as id, due.channel_id, author.id as user_id, due."row", due.created_at,
      author.is_deleted or due."row" -> 'erasedAt' is not null as is_deleted,
      c.last_seq + row_number() over (
        partition by due.channel_id order by due.created_at, due.position
      ) as seq,
      author.last_author_seq + row_number() over (
        partition by due.channel_id, author.id order by due.created_at, due.position
      ) as author_seq
    from due
    join channels c on c.id = due.channel_id
    join author on author.channel_id = due.channel_id and author.id = due."row" ->> 'userId'
  ),
  inserted as (
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, created_rev, author_seq,
      text, mentions, attachments, custom,
      type, silent, parent_id, quoted_id,
      created_at, updated_at, edited_at, deleted_at
    )
    select
      id, $10, channel_id, user_id, seq, seq, seq, author_seq,
      case when is_deleted then '' else "row" ->> 'text' end,
      case
        when is_deleted then '{}'
        else array(select jsonb_array_elements_text("row" -> 'mentions'))
      end,
      case when is_deleted then '[]' else "row" -> 'attachments' end,
      case when not is_deleted then nullif("row" -> 'custom', 'null') end,
      "row" ->> 'type', ("row" ->> 'silent')::boolean, ("row" ->> 'parentId')::uuid,
      ("row" ->> 'quotedId')::uuid,
      created_at, coalesce(("row" ->> 'editedAt')::timestamptz, created_at),
      case when not is_deleted then ("row" ->> 'editedAt')::timestamptz end,
      case when is_deleted then coalesce(("row" ->> 'erasedAt')::timestamptz, now()) end
    from numbered
  ),
  former as (
    insert into former_members (app_id, channel_id, user_id)
    select distinct $11::uuid, numbered.channel_id, numbered.user_id
    from numbered
    where not numbered.is_deleted
      and numbered.user_id <> $12
      and not exists (
        select
        from members m
        where m.channel_id = numbered.channel_id
          and m.user_id = numbered.user_id
      )
    on conflict do nothing
  ),
  advanced as (
    update channels c
    set
      last_seq = newest.seq,
      last_activity_at = greatest(c.last_activity_at, newest.created_at)
    from (
      select channel_id, max(seq) as seq, max(created_at) as created_at
      from numbered
      group by channel_id
    ) newest
    where c.id = newest.channel_id
      and c.id = any($13::uuid[])
  )
  select
    channel_id, user_id, seq::int, ("row" ->> 'parentId')::uuid as parent_id, is_deleted,
    is_deleted or "row" ->> 'silent' is not null as is_uncounted
  from numbered
--> statement-breakpoint

  with edited as materialized (
    select topic, max("offset") as "offset"
    from (
  select topic, "offset", type
  from events
  where created_at > now() - $1 * interval '1 second'
  offset 0
) recent
    where topic like 'chat:%'
      and type = 'channel.updated'
    group by topic
  )
  select edited.topic, edited."offset", coalesce(c.member_count, 0) as member_count
  from edited
  left join channels c on c.id = split_part(edited.topic, ':', 3)::uuid
  where edited.topic > $2
  order by edited.topic
  limit $3
--> statement-breakpoint

  with former as (
    delete from former_members
    where channel_id = $1
      and user_id = $2
  )
  update channels
  set
    dm_key = null,
    client_id = case when created_by = $3 then null else client_id end
  where id = $4
    and (dm_key is not null or (created_by = $5 and client_id is not null))
--> statement-breakpoint

  with found as materialized (
    select u.ctid, u.id
    from users u
    where u.app_id = $1
      and u.id > $2
    order by u.app_id, u.id
    limit $3
  ),
  deleted as (
    delete from users
    where ctid = any(array(select ctid from found))
  )
  select id as user_id
  from found
  order by id
--> statement-breakpoint

  with joined as (
    insert into workspace_members (app_id, workspace_id, user_id, role)
    values ($1, $2, $3, $4)
    on conflict do nothing
    returning user_id
  ),
  used as (
    insert into workspace_invite_uses (app_id, invite_id, user_id)
    select $5, $6, user_id
    from joined
    on conflict do nothing
    returning user_id
  )
  update workspace_invites
  set uses = uses + 1
  where id = $7
    and exists (select from used)
--> statement-breakpoint

  with membership as (
    delete from members
    where channel_id = $1
      and user_id = $2
    returning role
  ),
  noted as (
    insert into imported_rows (app_id, record, key, channel_id, line, "row")
    select $3::uuid, 'owner', c.id::text, c.id, 0, '{}'::jsonb
    from membership
    join channels c on c.id = $4 and c.deleted_at = 'infinity'
    where membership.role = 'owner'
    on conflict do nothing
  ),
  former as (
    delete from former_members
    where channel_id = $5
      and user_id = $6
  )
  update channels
  set dm_key = null
  where id = $7
    and dm_key is not null
--> statement-breakpoint

  with page as materialized (
  select e.topic, e."offset", e.type, e.created_at
  from events e
  where e.created_at >= $1::timestamptz
    and (e.created_at, e.topic, e."offset") > ($2::timestamptz, $3, $4::int)
  order by e.created_at, e.topic, e."offset"
  limit $5),
  collected as (
    insert into webhook_deliveries (app_id, webhook_id, topic, "offset", event_type)
    select wh.app_id, wh.id, page.topic, page."offset", page.type
    from page
    join webhooks wh on wh.app_id = split_part(page.topic, ':', 2)::uuid
    where wh.enabled
      and page.created_at >= wh.active_since
      and 
  wh.events && array['*', split_part(page.type, '.', 1) || '.*', page.type]
      and not exists (
        select
        from webhook_deliveries wd
        where wd.webhook_id = wh.id
          and wd.topic = page.topic
          and wd."offset" = page."offset"
      )
    order by page.topic, page."offset", wh.id
    on conflict do nothing
  )
  
  select
    page.created_at::text as at, page.topic, page."offset",
    (select count(*)::int from page) as count
  from page
  order by page.created_at desc, page.topic desc, page."offset" desc
  limit 1
--> statement-breakpoint

  with removed as (
    delete from members
    where channel_id = $1
      and user_id = $2
    returning app_id, channel_id, user_id
  ),
  former as (
    insert into former_members (app_id, channel_id, user_id)
    select app_id, channel_id, user_id
    from removed
    on conflict do nothing
  )
  update channels
  set
    member_count = member_count - 1,
    last_activity_at = case
      when member_count = 1 then greatest(clock_timestamp(), last_activity_at)
      else last_activity_at
    end
  where id = $3
    and exists (select from removed)
--> statement-breakpoint

  with slice as materialized (
    select
      ir.record, ir.key,
      case ir.record when 'refresh' then ir.key else ir."row" ->> 'userId' end as user_id,
      ir."row" -> 'erasedAt' is null as is_full
    from imported_rows ir
    where ir.app_id = $1
      and (ir.record, ir.key) > ($2, $3)
    order by ir.record, ir.key
    limit $4
  ),
  theirs as materialized (
    select slice.record, slice.key
    from slice
    cross join lateral (
      select
      from users u
      where u.app_id = $5
        and u.id = slice.user_id
        and u.deleted_at is not null
        and u.forgotten_at is null
      limit 1
    ) deleted
    where slice.record <> 'message'
      or slice.is_full
  ),
  emptied as (
    update imported_rows ir
    set "row" = ir."row" || jsonb_build_object(
      'erasedAt', clock_timestamp(),
      'text', '', 'mentions', '[]'::jsonb, 'attachments', '[]'::jsonb, 'custom', null
    )
    where ir.app_id = $6
      and ir.record = 'message'
      and ir.key = any(array(select key from theirs where record = 'message'))
  ),
  removed as (
    delete from imported_rows ir
    using theirs
    where ir.app_id = $7
      and ir.record = theirs.record
      and ir.key = theirs.key
      and ir.key = any(array(select key from theirs))
      and theirs.record <> 'message'
  )
  select record, key, (select count(*)::int from slice) as count
  from slice
  order by record desc, key desc
  limit 1
--> statement-breakpoint

  with stuck as materialized (
    select sa.pid
    from pg_stat_activity sa
    where sa.datname = current_database()
      and sa.usename = current_user
      and sa.application_name like 'parley%'
      and sa.application_name <> $1
      and sa.state = 'active'
      and sa.wait_event = 'ClientRead'
      and sa.state_change < clock_timestamp() - $2 * interval '1 millisecond'
  )
  select pg_terminate_backend(stuck.pid) as is_ended
  from stuck
--> statement-breakpoint

  with unowned as (
    delete from imported_rows
    where app_id = $1
      and record = 'owner'
      and key = any($2::text[])
    returning channel_id
  )
  update members m
  set role = 'owner'
  from unowned
  where m.channel_id = unowned.channel_id
    and m.user_id = (
  select coalesce(
    (
      select next.user_id
      from members next
      where next.channel_id = unowned.channel_id
        and next.role = 'moderator'
      order by next.joined_at, next.user_id
      limit 1
    ),
    (
      select next.user_id
      from members next
      where next.channel_id = unowned.channel_id
      order by next.joined_at, next.user_id
      limit 1
    )
  )
  where not exists (
    select
    from members owning
    where owning.channel_id = unowned.channel_id
      and owning.role = 'owner'
  ))
--> statement-breakpoint
begin
--> statement-breakpoint
commit
--> statement-breakpoint
create schema if not exists drizzle
--> statement-breakpoint
delete from job_workers where id = any($1::text[])
--> statement-breakpoint
delete from job_workers where seen_at < 
      least(to_timestamp($1::float / 1000), clock_timestamp())
        - make_interval(secs => $2)
--> statement-breakpoint
delete from nodes where id = $1
--> statement-breakpoint
delete from service where key = $1
--> statement-breakpoint
discard plans
--> statement-breakpoint
grant select on "drizzle"."__drizzle_migrations" to "role_4857_0"
--> statement-breakpoint
grant select on "drizzle"."__drizzle_migrations" to "role_4857_1"
--> statement-breakpoint
grant select on "graphile_worker"."migrations" to "role_4857_0"
--> statement-breakpoint
grant select on "graphile_worker"."migrations" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "graphile_worker"."_private_job_queues" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "graphile_worker"."_private_job_queues" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "graphile_worker"."_private_jobs" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "graphile_worker"."_private_jobs" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "graphile_worker"."_private_known_crontabs" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "graphile_worker"."_private_known_crontabs" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "graphile_worker"."_private_tasks" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "graphile_worker"."_private_tasks" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "graphile_worker"."jobs" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "graphile_worker"."jobs" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."active_users" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."active_users" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."api_keys" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."api_keys" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."app_imports" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."app_imports" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."apps" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."apps" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."audit" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."audit" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."before_send_hooks" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."before_send_hooks" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."channels" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."channels" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."connections" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."connections" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."devices" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."devices" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."events" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."events" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."former_members" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."former_members" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."imported_rows" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."imported_rows" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."imports" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."imports" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."job_workers" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."job_workers" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."link_previews" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."link_previews" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."members" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."members" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."message_streams" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."message_streams" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."messages" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."messages" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."nodes" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."nodes" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."pins" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."pins" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."preferences" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."preferences" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."reactions" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."reactions" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."read_marks" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."read_marks" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."service" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."service" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."staged_jobs" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."staged_jobs" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."tombstone_counts" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."tombstone_counts" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."user_streams" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."user_streams" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."users" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."users" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."webhook_deliveries" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."webhook_deliveries" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."webhooks" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."webhooks" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."workspace_invite_uses" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."workspace_invite_uses" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."workspace_invites" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."workspace_invites" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."workspace_members" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."workspace_members" to "role_4857_1"
--> statement-breakpoint
grant select, insert, update, delete on "public"."workspaces" to "role_4857_0"
--> statement-breakpoint
grant select, insert, update, delete on "public"."workspaces" to "role_4857_1"
--> statement-breakpoint
grant usage on schema "drizzle" to "role_4857_0"
--> statement-breakpoint
grant usage on schema "drizzle" to "role_4857_1"
--> statement-breakpoint
grant usage on schema "graphile_worker" to "role_4857_0"
--> statement-breakpoint
grant usage on schema "graphile_worker" to "role_4857_1"
--> statement-breakpoint
grant usage on schema "public" to "role_4857_0"
--> statement-breakpoint
grant usage on schema "public" to "role_4857_1"
--> statement-breakpoint
grant usage, select on sequence "drizzle"."__drizzle_migrations_id_seq" to "role_4857_0"
--> statement-breakpoint
grant usage, select on sequence "drizzle"."__drizzle_migrations_id_seq" to "role_4857_1"
--> statement-breakpoint
grant usage, select on sequence "graphile_worker"."job_queues_id_seq" to "role_4857_0"
--> statement-breakpoint
grant usage, select on sequence "graphile_worker"."job_queues_id_seq" to "role_4857_1"
--> statement-breakpoint
grant usage, select on sequence "graphile_worker"."jobs_id_seq1" to "role_4857_0"
--> statement-breakpoint
grant usage, select on sequence "graphile_worker"."jobs_id_seq1" to "role_4857_1"
--> statement-breakpoint
grant usage, select on sequence "graphile_worker"."tasks_id_seq" to "role_4857_0"
--> statement-breakpoint
grant usage, select on sequence "graphile_worker"."tasks_id_seq" to "role_4857_1"
--> statement-breakpoint
grant usage, select on sequence "public"."audit_id_seq" to "role_4857_0"
--> statement-breakpoint
grant usage, select on sequence "public"."audit_id_seq" to "role_4857_1"
--> statement-breakpoint
grant usage, select on sequence "public"."imported_rows_position_seq" to "role_4857_0"
--> statement-breakpoint
grant usage, select on sequence "public"."imported_rows_position_seq" to "role_4857_1"
--> statement-breakpoint
grant usage, select on sequence "public"."staged_jobs_id_seq" to "role_4857_0"
--> statement-breakpoint
grant usage, select on sequence "public"."staged_jobs_id_seq" to "role_4857_1"
--> statement-breakpoint
grant usage, select on sequence "public"."webhook_deliveries_id_seq" to "role_4857_0"
--> statement-breakpoint
grant usage, select on sequence "public"."webhook_deliveries_id_seq" to "role_4857_1"
--> statement-breakpoint
reset lock_timeout
--> statement-breakpoint
rollback
--> statement-breakpoint
select
--> statement-breakpoint
select 1
--> statement-breakpoint
select from pg_roles where rolname = $1
--> statement-breakpoint
select pg_advisory_unlock($1, hashtext(current_schema()))
--> statement-breakpoint
select pg_advisory_xact_lock($1, hashtext(current_schema()))
--> statement-breakpoint
select pg_advisory_xact_lock(hashtext('parley grant'))
--> statement-breakpoint
select pg_notify($1, $2)
--> statement-breakpoint
select pg_stat_force_next_flush()
--> statement-breakpoint
select set_config('idle_in_transaction_session_timeout', $1::text, false)
--> statement-breakpoint
select set_config('lock_timeout', $1, false)
--> statement-breakpoint
select set_config('lock_timeout', $1, true)
--> statement-breakpoint
select set_config('parley.audit_retention', 'on', true)
--> statement-breakpoint
set plan_cache_mode = force_custom_plan
--> statement-breakpoint
set plan_cache_mode = force_generic_plan
--> statement-breakpoint
set transaction isolation level repeatable read, read only
--> statement-breakpoint
vacuum service