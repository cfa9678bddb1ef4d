import type { contract, Input, Message } from '@parley/contract'
import { channelForReader, type ReaderContext } from '../channels/access.ts'
import { SYSTEM_USER } from '../system-user.ts'
import { selectMessages } from './view.ts'

export type Send = Input<typeof contract.messages.send>

/** The message that an earlier call with the same `clientId` has sent, if there was one. */
export async function findRepeated(ctx: ReaderContext, { channelId, clientId }: Send) {
  if (clientId === undefined) return undefined
  const { db, caller } = ctx
  const which = db`
    ${ofAuthor(ctx, channelId)}
      and msg.client_id = ${clientId}`
  const [message] = await selectMessages(db, { viewer: caller.userId, which })
  if (!message) return undefined
  await channelForReader(ctx, channelId)
  return message
}

/** The messages of earlier calls that these sends to one channel repeat. */
export async function findAllRepeated(ctx: ReaderContext, sends: Send[]) {
  const [first] = sends
  const clientIds = sends.flatMap(({ clientId }) => clientId ?? [])
  if (!first || clientIds.length === 0) return new Map<Send, Message>()
  const { db, caller } = ctx
  const which = db`
    ${ofAuthor(ctx, first.channelId)}
      and msg.client_id = any(${clientIds})`
  const messages = await selectMessages(db, { viewer: caller.userId, which })
  if (messages.length > 0) await channelForReader(ctx, first.channelId)
  const earlier = new Map(messages.map((message) => [message.clientId, message]))
  const found = sends.flatMap((each): [Send, Message][] => {
    const message = each.clientId === undefined ? undefined : earlier.get(each.clientId)
    return message ? [[each, message]] : []
  })
  return new Map(found)
}

const ofAuthor = ({ db, caller }: ReaderContext, channelId: string) => db`
  where msg.app_id = ${caller.appId}
    and msg.channel_id = ${channelId}
    and msg.user_id = ${caller.userId ?? SYSTEM_USER.id}`
