import { topics } from '@parley/contract'
import { expect, test } from 'vitest'
import { NEVER, quietTimings } from '../support/quiet.ts'
import { type PlanKind, rowsReadBy } from '../support/rows-read.ts'
import { RawSocket } from '../support/socket.ts'
import { useWorld, type World } from '../support/world.ts'

const world = useWorld({
  poolSize: 1,
  timings: { ...quietTimings, pingMs: NEVER },
})

/** How many users, members, messages at each end, channels of a user, and open channels. */
const MANY = 3_000

type Insertion = Pick<World, 'db' | 'appId'>

const insertUsers = ({ db, appId }: Insertion) => db`
  insert into users (app_id, id, name)
  select ${appId}, 'user-' || n, 'Person ' || n
  from generate_series(1, ${MANY}) n`

const insertMembers = ({ db, appId }: Insertion, channelId: string) => db`
  insert into members (app_id, channel_id, user_id, role, joined_at, last_read_seq)
  select ${appId}, ${channelId}, 'user-' || n, 'member', now() + n * interval '1 ms', n
  from generate_series(1, ${MANY}) n`

type Messages = { channelId: string; userId: string; from: number; isDeleted?: boolean }

const insertMessages = (
  { db, appId }: Insertion,
  { channelId, userId, from, isDeleted = false }: Messages,
) => db`
  with added as (
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, author_seq,
      text, mentions, attachments, deleted_at
    )
    select
      gen_random_uuid(), ${appId}, ${channelId}, ${userId}, n, n, n - ${from - 1},
      'hello', '{}', '[]', case when ${isDeleted} then now() end
    from generate_series(${from}::int, ${from + MANY - 1}::int) n
    returning seq, deleted_at
  ),
  counted as (
    insert into tombstone_counts (app_id, channel_id, user_id, part, count)
    select ${appId}, ${channelId}, author, seq / 500, count(*)
    from added, unnest(${['', userId]}::text[]) author
    where deleted_at is not null
    group by 3, 4
  )
  update channels
  set last_seq = ${from + MANY - 1}, rev = ${from + MANY - 1}
  where id = ${channelId}`

/** Channels of cem, as many public as of a group, each with an unread live message. */
const insertChannels = ({ db, appId }: Insertion) => db`
  with added as (
    insert into channels (
      id, app_id, cid, type, name, created_by, last_seq, rev, last_activity_at, active_hour
    )
    select
      gen_random_uuid(), ${appId}, 'public:' || n,
      case when n % 2 = 0 then 'public' else 'livestream' end, 'Room ' || n, 'cem', 1, 1,
      now() - n * interval '1 hour', date_trunc('hour', now() - n * interval '1 hour', 'UTC')
    from generate_series(1, ${MANY}) n
    returning id
  ),
  joined as (
    insert into members (app_id, channel_id, user_id, role)
    select ${appId}, id, 'cem', 'owner'
    from added
  )
  insert into messages (
    id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments
  )
  select gen_random_uuid(), ${appId}, id, 'user-1', 1, 1, 'hello', '{}', '[]'
  from added`

/** An operation, and how many rows it returns. */
type Read = [name: string, returned: number, work: () => Promise<unknown>]

async function fill() {
  const [ana, ben, cem, dan] = await world().users('ana', 'ben', 'cem', 'dan')
  const memberIds = ['ben', 'cem', 'dan']
  const group = (name: string) => ana.channels.create({ type: 'group', name, memberIds })
  const [{ id: channelId }, { id: ownId }] = [await group('Long'), await group('Own')]
  await insertUsers(world())
  await insertMembers(world(), channelId)
  await insertMessages(world(), { channelId, userId: 'cem', from: 1 })
  await insertMessages(world(), { channelId, userId: 'cem', from: MANY + 1, isDeleted: true })
  await insertMessages(world(), { channelId: ownId, userId: 'ana', from: 1 })
  await insertChannels(world())
  for (const reader of [ana, ben]) await reader.reads.mark({ channelId })
  const messageAt = async (seq: number) => {
    const [row] = await world().db<{ id: string }[]>`
      select id
      from messages
      where channel_id = ${channelId}
        and seq = ${seq}`
    return row?.id ?? ''
  }
  const [first, lastLive, recent] = await Promise.all([
    messageAt(1),
    messageAt(MANY),
    messageAt(MANY - 3),
  ])
  const { channels: some } = await cem.channels.list({ limit: 20, offset: MANY / 2 })
  const deep = { limit: 20, offset: MANY / 2 }
  const { backend, operator, appId } = world()
  const [all, users, members, positions] = await Promise.all([
    backend.channels.list(deep),
    ben.users.list(deep),
    ben.members.list({ channelId, ...deep }),
    ben.receipts.status({ channelId, ...deep }),
  ])
  const after = ({ nextCursor }: { nextCursor?: string | null }) => ({
    limit: 20,
    cursor: nextCursor ?? '',
  })
  const socket = await RawSocket.connect(world(), ben)
  let id = 1
  const subscribe = async (from: object = {}) => {
    const channel = topics.channel(world().appId, channelId)
    id += 2
    socket.send({ id, subscribe: { channel, ...from } }, { id: id + 1, unsubscribe: { channel } })
    await socket.until((message) => message.id === id + 1)
  }
  const reads: Read[] = [
    ['the newest page, behind tombstones', 50, () => ben.messages.list({ channelId, limit: 50 })],
    [
      'the page after the last live message',
      1,
      () => ben.messages.list({ channelId, after: lastLive, limit: 50 }),
    ],
    [
      'a page from the middle',
      50,
      () => ben.messages.list({ channelId, before: recent, limit: 50 }),
    ],
    [
      'a channel whose last messages are deleted, with members',
      100,
      () => ben.channels.get({ channelId }),
    ],
    ['a channel full of own messages', 1, () => ana.channels.get({ channelId: ownId })],
    ['a list of both', 2, () => ana.channels.list({})],
    ['the unread count of both', 2, () => ana.reads.unreadCount()],
    ['an unread count behind tombstones', 25, () => dan.channels.get({ channelId })],
    ['the total of many channels', MANY, () => cem.reads.unreadCount()],
    [
      'what changed in some of many channels',
      20,
      () => cem.sync.pull({ channels: Object.fromEntries(some.map(({ id }) => [id, 0])) }),
    ],
    ['what is missed since a message', 50, () => ben.messages.list({ channelId, since_seq: 9 })],
    ['the users', 50, () => ben.users.list({ limit: 50 })],
    ['open channels', 20, () => ben.channels.list({ discover: true, limit: 20 })],
    [
      'open channels of a type',
      20,
      () => ben.channels.list({ discover: true, type: 'livestream', limit: 20 }),
    ],
    ['the first members', 20, () => ben.members.list({ channelId, limit: 20 })],
    ['all channels after a cursor', 20, () => backend.channels.list(after(all))],
    ['users after a cursor', 20, () => ben.users.list(after(users))],
    ['members after a cursor', 20, () => ben.members.list({ channelId, ...after(members) })],
    [
      'read positions after a cursor',
      20,
      () => ben.receipts.status({ channelId, ...after(positions) }),
    ],
    ['a read in one of many channels', 1, () => cem.reads.mark({ channelId })],
    ['a token', 1, () => world().backend.tokens.create({ userId: 'user-7' })],
    ['a subscription', 1, () => subscribe()],
    // All readers are counted, and the first are found, by reading the members twice.
    [
      'who has read a recent message',
      MANY / 8,
      () => ben.receipts.get({ channelId, messageId: recent }),
    ],
    ['how far members have read', 20, () => ben.receipts.status({ channelId, limit: 20 })],
    ['the channels of a member', 5, () => operator.inspect.channels({ appId, userId: 'ana' })],
    [
      'the channels of a member of many, for which each membership is looked at',
      MANY,
      () => operator.inspect.channels({ appId, userId: 'cem', limit: 20 }),
    ],
    ['a user', 1, () => ben.users.get({ userId: 'user-9' })],
    ['a thread', 1, () => ben.messages.replies({ channelId, messageId: first })],
  ]
  return reads
}

test('no read looks at 20 times as many rows as it returns, whatever the plan', async () => {
  const reads = await fill()
  await world().db`analyze`
  for (const plan of ['generic', 'custom'] satisfies PlanKind[])
    for (const [name, returned, read] of reads) {
      const rows = await rowsReadBy(world(), plan, read)
      const most = 20 * Math.max(returned, 5)
      expect.soft(rows, `${name}, ${plan} plans`).toBeLessThanOrEqual(most)
    }
})

/** How often rows of channels were updated without a change of their indexes. */
async function hotUpdates() {
  await world().pool.use((connection) => connection.unsafe('select pg_stat_force_next_flush()'))
  const [row] = await world().db<{ hot: number }[]>`
    select n_tup_hot_upd::int as hot
    from pg_stat_user_tables
    where relname = 'channels'`
  return row?.hot ?? 0
}

test.for(['group', 'public'] as const)(
  "a message in a %s channel changes no index of the channel's row",
  async (type) => {
    const [ana] = await world().users('ana')
    const { id: channelId } = await ana.channels.create({ type, name: 'Talk' })
    await ana.messages.send({ channelId, text: 'first' })
    const before = await hotUpdates()
    for (let sent = 0; sent < 20; sent++) await ana.messages.send({ channelId, text: 'hi' })
    // A page without room for the next version, or the next hour, makes an exception.
    expect((await hotUpdates()) - before).toBeGreaterThanOrEqual(15)
  },
)
