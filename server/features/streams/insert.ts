import type { Message } from '@parley/contract'
import type { Tx } from '../../db/client.ts'

type NewStream = Pick<Message, 'id' | 'channelId' | 'userId' | 'text'> & { appId: string }

/** The streams of new messages whose text will grow. */
export function insertStreams(db: Tx, messages: NewStream[]) {
  const ids = messages.map(({ id }) => id)
  const appIds = messages.map(({ appId }) => appId)
  const channelIds = messages.map(({ channelId }) => channelId)
  const userIds = messages.map(({ userId }) => userId)
  const lengths = messages.map(({ text }) => text.length)
  const characters = messages.map(({ text }) => [...text].length)
  return db`
    insert into message_streams (message_id, app_id, channel_id, user_id, length, characters)
    select *
    from unnest(
      ${ids}::uuid[], ${appIds}::uuid[], ${channelIds}::uuid[], ${userIds}::text[],
      ${lengths}::int[], ${characters}::int[]
    )`
}
