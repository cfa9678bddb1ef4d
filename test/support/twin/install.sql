-- A second app in a database of the tests, whose users have the ids of the users of the first.
-- Its rows are copies of prototype rows that the product has written (see prototype.json): the id
-- `protouser` becomes another one, and `aaaaaaaaaaaa`, which ends every uuid, a hash of it.
create schema twin;

create table twin.prototype (table_name text, row text);

-- The rows of the twin, as they were made.
create table twin.rows (table_name text, row text);

-- Namesakes who have a socket: their row in `connections` comes and goes.
create table twin.listeners (user_id text);

insert into apps (id, name)
values ('00c0ffee-c0de-4000-8000-000000000000', 'Twin');
insert into api_keys (id, app_id, hash)
values (
  'c0ffee01-c0de-4001-8000-000000000000',
  '00c0ffee-c0de-4000-8000-000000000000',
  'of-the-twin'
);
-- A node that is never dead: namesakes are online.
insert into nodes (id, beat_at)
values ('c0ffee01-c0de-4002-8000-000000000000', '2100-01-01');

-- Defines twin.add_namesakes(ids), one statement for each table, so that its plans are kept.
create procedure twin.define() language plpgsql as $define$
declare
  statements text;
begin
  select string_agg(
      format(
        'with added as (
          insert into %1$s as t (%2$s)
          select %3$s
          from unnest(ids) given (id)
          cross join twin.prototype p
          cross join jsonb_populate_record(
            null::%1$s,
            replace(
              replace(p.row, ''aaaaaaaaaaaa'', left(md5(given.id), 12)),
              ''protouser'', given.id
            )::jsonb
          ) copy
          where p.table_name = %1$L
          on conflict do nothing
          returning t::text as row
        )
        insert into twin.rows
        select %1$L, row
        from added;',
        name,
        (
          select string_agg(quote_ident(column_name), ', ' order by column_name)
          from information_schema.columns
          where table_schema = 'public'
            and table_name = name
            and is_generated = 'NEVER'
        ),
        (
          select string_agg(format('copy.%I', column_name), ', ' order by column_name)
          from information_schema.columns
          where table_schema = 'public'
            and table_name = name
            and is_generated = 'NEVER'
        )
      ),
      e'\n'
      order by position
    )
  into statements
  from unnest(array[
    'users', 'preferences', 'devices', 'user_streams',
    'workspaces', 'workspace_members', 'workspace_invites', 'workspace_invite_uses',
    'channels', 'members', 'former_members', 'messages', 'tombstone_counts', 'read_marks',
    'reactions', 'pins', 'link_previews', 'events', 'connections'
  ]) with ordinality as tables (name, position);
  execute format(
    'create function twin.add_namesakes(ids text[]) returns void language plpgsql as %L',
    format('begin %s end', statements)
  );
end
$define$;

-- Namesakes are about to connect. They were active just now, and are connected to another node, so
-- that neither is written.
create function twin.listen(ids text[]) returns void language plpgsql as $listen$
begin
  insert into twin.listeners
  select unnest(ids);
  insert into connections (node_id, app_id, user_id)
  select 'c0ffee01-c0de-4002-8000-000000000000', '00c0ffee-c0de-4000-8000-000000000000', unnest(ids)
  on conflict do nothing;
  with active as (
    update users u
    set last_active_at = now() + interval '1 day'
    where app_id = '00c0ffee-c0de-4000-8000-000000000000'
      and id = any(ids)
    returning id, u::text as row
  )
  update twin.rows t
  set row = active.row
  from active
  where t.table_name = 'users'
    and t.row like '(00c0ffee-c0de-4000-8000-000000000000,' || active.id || ',%';
end
$listen$;

-- Rows of the twin that were added, changed or removed, and rows of others that name it.
create function twin.differences() returns setof text language plpgsql as $differences$
declare
  rows text;
begin
  select string_agg(
      format(
        'select %L, t.row
        from (
          select t::text as row
          from %I.%I t
          offset 0
        ) t
        where strpos(t.row, ''of-the-twin'') > 0
          -- The cheaper question first.
          or (strpos(t.row, ''-c0de-'') > 0 and t.row like ''%%c0ffee%%-c0de-%%'')',
        regexp_replace(format('%I.%I', n.nspname, t.relname), '^public\.', ''),
        n.nspname,
        t.relname
      ),
      ' union all '
    )
  into rows
  from pg_class t
  join pg_namespace n on n.oid = t.relnamespace
  where t.relkind = 'r'
    and t.relpersistence <> 't'
    and n.nspname not in ('pg_catalog', 'information_schema', 'twin')
    -- A table without a page has no rows, and planning a query of it takes longer than this.
    and pg_relation_size(t.oid) > 0;
  return query execute format(
    'with counted (table_name, row, count) as (
      select *, 1
      from (%s) found
      union all
      select *, -1
      from twin.rows
    )
    select
      case when sum(count) > 0 then ''added: '' else ''removed: '' end || table_name || '' '' || row
    from counted
    where table_name <> ''connections''
      or not exists (
        select
        from twin.listeners l
        where row like ''%%,00c0ffee-%%,'' || l.user_id || '',%%''
      )
    group by table_name, row
    having sum(count) <> 0',
    rows
  );
end
$differences$;
