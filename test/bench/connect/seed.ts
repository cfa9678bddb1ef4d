import { createApi } from '@parley/client/api'
import { topics } from '@parley/contract'
import { createTokens } from '@parley/server/core/signed-tokens'
import { watchDatabase } from '../http/database.ts'
import { ADMIN_KEY, JWT_SECRET } from '../server.ts'
import type { Client } from './clients.ts'

const CHANNELS_A_USER = 10
const MEMBERS = 100

/** A member who writes to a channel, and how many clients are subscribed to it. */
export type Sender = { channelId: string; token: string; subscribers: number }
export type Seeded = { clients: Client[]; senders: Sender[] }

/**
 * Makes `count` users, each with the topics to subscribe to: their own and those of ten channels of
 * a hundred members; and one of the members of each channel, who writes to it.
 */
export async function seedUsers(
  databaseUrl: string,
  { url, count }: { url: string; count: number },
): Promise<Seeded> {
  const { id: appId } = await createApi({ url, adminKey: ADMIN_KEY }).apps.create({ name: 'Bench' })
  const { sql, end } = await watchDatabase(databaseUrl)
  const channelCount = Math.ceil((count * CHANNELS_A_USER) / MEMBERS)
  await sql`
    insert into users (app_id, id)
    select ${appId}, 'user' || n
    from generate_series(0, ${count - 1}::int) n`
  const rows = await sql<{ id: string }[]>`
    insert into channels (id, app_id, cid, type, name, created_by, member_count)
    select gen_random_uuid(), ${appId}, 'group:' || n, 'group', 'Channel ' || n, 'user0', ${MEMBERS}
    from generate_series(0, ${channelCount - 1}::int) n
    returning id`
  const ids = rows.map(({ id }) => id)
  const channelsOf = (user: number) =>
    Array.from(
      { length: Math.min(CHANNELS_A_USER, ids.length) },
      (_, index) => ids[(user + index * 37) % ids.length] ?? '',
    )
  const users = Array.from({ length: count }, (_, user) => user)
  const pairs = users.flatMap((user) => channelsOf(user).map((id) => ({ user: `user${user}`, id })))
  await sql`
    insert into members (app_id, channel_id, user_id, role)
    select ${appId}, channel_id, user_id, 'member'
    from unnest(
      ${pairs.map(({ id }) => id)}::uuid[], ${pairs.map(({ user }) => user)}::text[]
    ) given (channel_id, user_id)
    on conflict do nothing`
  await sql`vacuum analyze`
  await end()
  const tokens = await createTokens([JWT_SECRET])
  const sign = (purpose: 'api' | 'ws', userId: string) =>
    tokens.sign(purpose, { appId, userId, generation: 0, isAdmin: false })
  const clients = users.map(async (user) => ({
    token: await sign('ws', `user${user}`),
    topics: [
      topics.user(appId, `user${user}`),
      ...channelsOf(user).map((id) => topics.channel(appId, id)),
    ],
  }))
  const senders = ids.map(async (channelId) => {
    const members = pairs.filter(({ id }) => id === channelId)
    const token = await sign('api', members[0]?.user ?? '')
    return { channelId, token, subscribers: members.length }
  })
  return { clients: await Promise.all(clients), senders: await Promise.all(senders) }
}
