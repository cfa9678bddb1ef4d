import type { World } from './world.ts'

type Original = { channelId: string; id: string }

/** Stores copies of a channel's last message, and of its event, after it. */
export const copyLastMessage = ({ db }: Pick<World, 'db'>, { id }: Original, copies: number) => db`
  with copy as materialized (
    select msg.*, n, gen_random_uuid() as copy_id
    from messages msg
    cross join generate_series(1, ${copies}::int) n
    where msg.id = ${id}
  ),
  stored as (
    insert into messages
    select (
      jsonb_populate_record(
        msg,
        jsonb_build_object(
          'id', copy.copy_id, 'seq', copy.seq + n, 'rev', copy.rev + n,
          'created_rev', copy.created_rev + n, 'author_seq', copy.author_seq + n
        )
      )
    ).*
    from copy
    join messages msg on msg.id = copy.id
  ),
  counted as (
    update channels c
    set rev = c.rev + ${copies}, last_seq = c.last_seq + ${copies}
    from messages msg
    where msg.id = ${id}
      and c.id = msg.channel_id
  )
  insert into events (topic, "offset", type, envelope, message_id)
  select
    e.topic, e."offset" + n, e.type,
    replace(e.envelope, ${id}, copy.copy_id::text), copy.copy_id
  from copy
  join events e on e.message_id = copy.id and e."offset" = copy.created_rev`
