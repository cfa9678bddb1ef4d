import Fastify from 'fastify'
import postgres from 'postgres'

/**
 * What a send is compared with, on the same PostgreSQL with as many connections: a route that only
 * answers, one with a single prepared insert, and one that raises a counter and inserts, in one
 * transaction. No rights, no events, no checks, no log.
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

process.on('message', () => process.send?.({ cpu: process.cpuUsage() }))
process.on('disconnect', () => process.exit())
process.send?.({ url: await app.listen({ port: 0, host: '127.0.0.1' }) })
