import { isChatError } from '@parley/client'
import type { World } from './world.ts'

/** A channel of ana's, with ben and cem. */
export async function talk(world: World, type: 'group' | 'public' = 'group') {
  const [ana, ben, cem] = await world.users('ana', 'ben', 'cem')
  const { id: channelId } = await ana.channels.create({
    type,
    name: 'Talk',
    memberIds: ['ben', 'cem'],
  })
  return { ana, ben, cem, channelId }
}

/** The code of a refusal, or `done`. Any other failure fails the test. */
export const outcome = (call: Promise<unknown>) =>
  call.then(
    () => 'done',
    (error) => (isChatError(error) ? error.code : Promise.reject(error)),
  )

type MessageRow = { seq: number; rev: number; userId: string; deletedAt: string | null }
export const rowsOf = ({ db }: World, channelId: string) => db<MessageRow[]>`
  select seq, rev, user_id, deleted_at
  from messages
  where channel_id = ${channelId}
  order by seq`
