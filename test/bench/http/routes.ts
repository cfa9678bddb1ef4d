import Fastify from 'fastify'
import postgres from 'postgres'

/**
 * The routes that calls are compared with, on the same PostgreSQL with as many connections. Sends:
 * a route that only answers, one with a single prepared insert, and one that raises a counter and
 * inserts, in one transaction. Reads: one statement each on the tables of the service. No rights,
 * no events, no checks, no log.
 */
const databaseUrl = process.argv[2] ?? ''
const host = decodeURIComponent(new URL(databaseUrl).hostname)
const sql = postgres(databaseUrl, { host, max: 10, onnotice: () => {} })
await sql`
  create table if not exists plain_messages (
    id bigint generated always as identity primary key,
    channel_id uuid not null,
    seq int not null,
    user_id text not null,
    text text not null,
    created_at timestamptz not null default now()
  )`
await sql`create index if not exists plain_by_channel on plain_messages (channel_id, seq)`
await sql`create table if not exists plain_channels (id uuid primary key, last_seq int not null)`

type Send = { Params: { channelId: string }; Body: { text: string } }
const app = Fastify()

app.post<Send>('/bare/:channelId', async ({ params, body }) => ({ ...params, text: body.text }))

app.post<Send>('/insert/:channelId', async ({ params: { channelId }, body: { text } }) => {
  const [message] = await sql`
    insert into plain_messages (channel_id, seq, user_id, text)
    values (${channelId}, 1, 'ana', ${text})
    returning *`
  return message
})

app.post<Send>('/bump/:channelId', ({ params: { channelId }, body: { text } }) =>
  sql.begin(async (tx) => {
    const [channel] = await tx<{ lastSeq: number }[]>`
      insert into plain_channels as c (id, last_seq)
      values (${channelId}, 1)
      on conflict (id) do update set last_seq = c.last_seq + 1
      returning last_seq as "lastSeq"`
    const [message] = await tx`
      insert into plain_messages (channel_id, seq, user_id, text)
      values (${channelId}, ${channel?.lastSeq ?? 0}, 'ana', ${text})
      returning *`
    return message
  }),
)

app.get('/bare', async () => ({ ok: true }))

app.get<{ Params: { channelId: string } }>(
  '/messages/:channelId',
  ({ params }) => sql`
  select
    msg.id, msg.channel_id, msg.user_id, msg.seq, msg.rev, msg.text,
    msg.mentions, msg.attachments, msg.custom, msg.parent_id, msg.reply_count,
    msg.created_at, msg.updated_at, msg.edited_at, msg.deleted_at,
    u.name, u.image
  from messages msg
  join users u on u.app_id = msg.app_id and u.id = msg.user_id
  where msg.channel_id = ${params.channelId}
  order by msg.seq desc
  limit 50`,
)

type OfUser = { Params: { appId: string; userId: string } }
app.get<OfUser>(
  '/channels/:appId/:userId',
  ({ params: { appId, userId } }) => sql`
  select
    c.id, c.cid, c.type, c.name, c.image, c.description, c.member_count, c.rev,
    c.created_at, c.updated_at, m.role, m.last_read_seq, m.starred, m.muted,
    c.last_seq - m.unread_after_seq as unread_count, last.*
  from members m
  join channels c on c.id = m.channel_id
  left join lateral (
    select msg.id as last_id, msg.user_id, msg.seq, msg.text, msg.created_at as sent_at
    from messages msg
    where msg.channel_id = c.id
    order by msg.seq desc
    limit 1
  ) last on true
  where m.app_id = ${appId}
    and m.user_id = ${userId}
  order by c.last_activity_at desc
  limit 50`,
)

type Mark = { Params: { channelId: string; userId: string } }
app.post<Mark>('/mark/:channelId/:userId', async ({ params: { channelId, userId } }) => {
  const [read] = await sql`
    update members m
    set last_read_seq = c.last_seq, unread_after_seq = c.last_seq
    from channels c
    where c.id = m.channel_id
      and m.channel_id = ${channelId}
      and m.user_id = ${userId}
    returning m.last_read_seq`
  return read
})

process.on('message', () => process.send?.({ cpu: process.cpuUsage() }))
process.on('disconnect', () => process.exit())
process.send?.({ url: await app.listen({ port: 0, host: '127.0.0.1' }) })
