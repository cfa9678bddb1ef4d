import { createChatServer, type ImportRecord } from '@parley/client/server'
import { idOf } from '@parley/server/features/imports/records'
import { expect } from 'vitest'
import type { World } from '../support/world.ts'

/** The time of a minute of the history that tests import. */
export const at = (minute: number) => new Date(Date.UTC(2024, 4, 1, 9, minute)).toISOString()

export const user = (id: string, fields = {}): ImportRecord => ({ record: 'user', id, ...fields })
export const channel = (id: string, fields = {}): ImportRecord =>
  ({ record: 'channel', id, type: 'group', name: id, createdAt: at(0), ...fields }) as ImportRecord
export const member = (channelId: string, userId: string, fields = {}): ImportRecord => ({
  record: 'member',
  channelId,
  userId,
  joinedAt: at(0),
  ...fields,
})
export const message = (id: string, channelId: string, fields = {}): ImportRecord => ({
  record: 'message',
  id,
  channelId,
  userId: 'ana',
  text: id,
  createdAt: at(1),
  ...fields,
})

export const importInto = (
  { url, apiKey }: Pick<World, 'url' | 'apiKey'>,
  records: ImportRecord[],
) => createChatServer({ url, apiKey }).imports.run(records)

/** A body as it is, for what the client cannot express. */
export const post = async (
  { url, apiKey }: Pick<World, 'url' | 'apiKey'>,
  body: RequestInit['body'] | undefined,
  type = 'application/x-ndjson',
) => {
  const response = await fetch(`${url}/import`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': type },
    ...(body === undefined ? {} : { body }),
    duplex: 'half',
  })
  // biome-ignore lint/suspicious/noExplicitAny: tests look into reports and errors alike
  return { status: response.status, body: (await response.json()) as any }
}

export const channelIdOf = ({ appId }: { appId: string }, id: string) => idOf(appId, 'channel', id)
export const messageIdOf = ({ appId }: { appId: string }, id: string) => idOf(appId, 'message', id)

/** Every counter of the app's channels is what its rows say. */
export async function expectExactCounters({ db, appId }: Pick<World, 'db' | 'appId'>) {
  const channels = await db`
    select c.id
    from channels c
    where c.app_id = ${appId}
      and c.deleted_at is null
      and (
        c.member_count <> (select count(*) from members m where m.channel_id = c.id)
        or c.last_seq <> (select count(*) from messages msg where msg.channel_id = c.id)
        or c.last_seq <> (
          select coalesce(max(seq), 0)
          from messages msg
          where msg.channel_id = c.id
        )
        or c.rev <= c.last_seq
      )`
  const messages = await db`
    select numbered.id
    from (
      select
        msg.*,
        row_number() over (partition by channel_id, user_id order by seq) as own,
        (
          select count(*)
          from messages reply
          where reply.parent_id = msg.id
            and reply.deleted_at is null
        ) as replies,
        lag(created_at) over (partition by channel_id order by seq) as before
      from messages msg
      where app_id = ${appId}
    ) numbered
    where numbered.author_seq <> numbered.own
      or numbered.reply_count <> numbered.replies
      or numbered.created_at < numbered.before`
  const members = await db`
    select m.user_id
    from members m
    join channels c on c.id = m.channel_id
    where m.app_id = ${appId}
      and c.deleted_at is null
      and (m.unread_after_seq < 0 or m.unread_after_seq > c.last_seq)`
  const silent = await db`
    select *
    from (
      select
        coalesce(counted.channel_id, tc.channel_id) as channel_id, counted.count, tc.count as kept
      from (
        select msg.channel_id, count(*)
        from messages msg
        where msg.app_id = ${appId}
          and (msg.silent or msg.deleted_at is not null)
        group by 1
      ) counted
      full join (
        select channel_id, sum(count) as count
        from tombstone_counts
        where app_id = ${appId}
          and user_id = ''
        group by 1
      ) tc on tc.channel_id = counted.channel_id
    ) compared
    where count is distinct from kept`
  expect({ channels, messages, members, silent }).toEqual({
    channels: [],
    messages: [],
    members: [],
    silent: [],
  })
}
