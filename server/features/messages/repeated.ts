import type { contract, Input } from '@parley/contract'
import type { Context } from '../../core/context.ts'
import { channelForReader } from '../access.ts'
import { SYSTEM_USER } from '../system-user.ts'
import { selectMessages } from './view.ts'

/** The message that an earlier call with the same `clientId` has sent, if there was one. */
export async function findRepeated(
  ctx: Pick<Context<'userOrKey'>, 'db' | 'caller'>,
  { channelId, clientId }: Input<typeof contract.messages.send>,
) {
  if (clientId === undefined) return undefined
  const { db, caller } = ctx
  const which = db`
    where msg.app_id = ${caller.appId}
      and msg.channel_id = ${channelId}
      and msg.user_id = ${caller.userId ?? SYSTEM_USER.id}
      and msg.client_id = ${clientId}`
  const [message] = await selectMessages(db, { viewer: caller.userId, which })
  if (!message) return undefined
  await channelForReader(ctx, channelId)
  return message
}
