import { contract } from '@parley/contract'
import { causeOf } from '../../core/context.ts'
import { type Implements, implement } from '../../core/operation.ts'
import { notStreaming, streamIsScreened } from '../../core/refusals.ts'
import { lockedMessageForAuthor } from '../messages/access.ts'
import { viewMessage } from '../messages/publish.ts'
import { appendText, lengthIfRepeated } from './append.ts'
import { endStream } from './end.ts'
import { lockStream } from './store.ts'

/**
 * Appends to a message. What it means to be stored, and when subscribers and history see it, is in
 * `realtime/streams`.
 */
const append = implement(contract.streams.append, async (ctx, given) => {
  const { caller, services } = ctx
  if (caller.isScreened) {
    throw streamIsScreened()
  }
  const grown = await appendText(ctx, given)
  if (!grown) return { length: await lengthIfRepeated(ctx, given) }
  const { appId } = caller
  const { length, isLarge } = grown
  const appended = { ...given, appId, isLarge, cause: causeOf(caller) }
  ctx.afterCommit(() => services.streams.appended(appended))
  return { length }
})

/** Finishing twice is the same as finishing once, and an interrupted message stays as it is. */
const finish = implement(contract.streams.finish, async (ctx, ref) => {
  const { channel, message } = await lockedMessageForAuthor(ctx, ref)
  const { appId, userId: viewer } = ctx.caller
  const { messageId } = ref
  if (message.streaming === null) {
    throw notStreaming()
  }
  const stream = await lockStream(ctx.db, { appId, messageId })
  if (!stream) return viewMessage(ctx, { messageId, viewer })
  const { tail } = stream
  return endStream(ctx, { channel, message, tail, viewer, isInterrupted: false })
})

export const streams = { append, finish } satisfies Implements<'streams'>
