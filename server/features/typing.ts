import { contract } from '@parley/contract'
import { broadcast } from '../core/context.ts'
import { type Implements, implementWithoutTransaction } from '../core/operation.ts'
import { notMember } from '../core/refusals.ts'
import { channelForMember, isLargeChannel } from './channels/access.ts'
import { selectUsers } from './users/view.ts'

const set = implementWithoutTransaction(contract.typing.set, async (ctx, { channelId, typing }) => {
  const { appId, userId } = ctx.caller
  const [channel, [user]] = await Promise.all([
    channelForMember(ctx, channelId),
    selectUsers(ctx.db, appId, [userId]),
  ])
  if (!user) throw notMember()
  if (!isLargeChannel(channel)) {
    broadcast(ctx, typing ? 'typing.start' : 'typing.stop', { channelId, userId, user })
  }
  return { success: true }
})

export const typing = { set } satisfies Implements<'typing'>
