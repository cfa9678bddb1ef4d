import { limits, topics } from '@parley/contract'
import type { User, World } from './world.ts'

/** 40,000 bytes: as much as a text may be. */
const LONG_TEXT = '😀'.repeat(limits.textLength)
export const TALK_MESSAGES = 60
export const LARGE_CHANNELS = 40

/** A channel with a root and replies of the longest text, of which two at a time share a rev. */
export async function createTalk({ db, appId }: World, user: User, count = TALK_MESSAGES) {
  const { id } = await user.channels.create({ type: 'group', name: 'Talk' })
  const root = await user.messages.send({ channelId: id, text: 'root' })
  await db`
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments, parent_id
    )
    select
      gen_random_uuid(), ${appId}, ${id}, ${user.id}, n + 1, 2 + (n + 1) / 2, ${LONG_TEXT},
      '{}', '[]', ${root.id}
    from generate_series(1, ${count}) n`
  await db`
    update channels
    set last_seq = ${count + 1}, rev = ${count + 2}
    where id = ${id}`
  return { channelId: id, rootId: root.id, rev: root.rev }
}

/** Channels of a user, each with a message of the longest text and a long description. */
export async function fillChannels({ db, appId }: World, userId: string) {
  const description = 'é'.repeat(limits.descriptionLength)
  const rows = await db<{ id: string }[]>`
    with made as (
      insert into channels (
        id, app_id, cid, type, created_by, name, description, last_seq, rev, last_activity_at
      )
      select
        gen_random_uuid(), ${appId}, 'group:' || ${userId} || n, 'group', ${userId}, 'X',
        ${description}, 1, 2, now() - n * interval '1 minute'
      from generate_series(1, ${LARGE_CHANNELS}) n
      returning id, last_activity_at
    ),
    joined as (
      insert into members (app_id, channel_id, user_id, role)
      select ${appId}, id, ${userId}, 'owner'
      from made
    ),
    filled as (
      insert into messages (id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments)
      select gen_random_uuid(), ${appId}, id, ${userId}, 1, 2, ${LONG_TEXT}, '{}', '[]'
      from made
    )
    select id
    from made
    order by last_activity_at desc`
  return rows.map(({ id }) => id)
}

/** Events of a channel that are together a little less than an answer may have. */
export async function fillEvents({ db, appId }: World, channelId: string) {
  const topic = topics.channel(appId, channelId)
  const [text, count] = ['x'.repeat(9_500), 100]
  await db`
    delete from events
    where topic = ${topic}`
  await db`
    insert into events (topic, "offset", type, envelope)
    select ${topic}, n, 'message.new', json_build_object('type', 'x', 'payload', ${text}::text)
    from generate_series(1, ${count}::int) n`
  await db`
    update channels
    set rev = ${count}
    where app_id = ${appId}
      and id = ${channelId}`
}
