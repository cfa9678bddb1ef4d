import type { watchDatabase } from './database.ts'

type Sql = Awaited<ReturnType<typeof watchDatabase>>['sql']

/** Inserts `messages` messages into each channel of an app, written by all members in turn. */
export async function fillChannels(sql: Sql, given: { appId: string; messages: number }) {
  const { appId, messages } = given
  await sql`
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, author_seq, text, mentions, attachments
    )
    select
      gen_random_uuid(), c.app_id, c.id, 'user' || n % c.member_count, c.last_seq + n, c.rev + n,
      (n + c.member_count - 1) / c.member_count,
      'The soup is ready, who is hungry? There is bread with it, and cheese.', '{}', '[]'
    from channels c
    cross join generate_series(1, ${messages}::int) n
    where c.app_id = ${appId}`
  await sql`
    update channels
    set last_seq = last_seq + ${messages}, rev = rev + ${messages}
    where app_id = ${appId}`
}

/** No member of any channel of an app has read anything. */
export async function unreadAll(sql: Sql, appId: string) {
  await sql`
    update members
    set last_read_seq = 0, unread_after_seq = 0
    where app_id = ${appId}`
  await sql`
    delete from read_marks
    where app_id = ${appId}`
  await sql`vacuum members, read_marks`
}
