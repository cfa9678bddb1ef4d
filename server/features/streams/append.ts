import { type contract, type Input, limits } from '@parley/contract'
import type { Context, WriteContext } from '../../core/context.ts'
import { ApiError } from '../../core/errors.ts'
import { channelFrozen, messageNotFound, notAuthor, notStreaming } from '../../core/refusals.ts'
import { pipelined } from '../../db/pipelined.ts'
import { channelForMember, isLargeChannelRow } from '../channels/access.ts'

type AppendInput = Input<typeof contract.streams.append>

type Grown = { length: number; isLarge: boolean }

/**
 * Appends to a message of the caller's, if its text ends at `at`. Returns no row if nothing was
 * appended. The rights are read by a statement after the lock: the locking one still sees the data
 * from before its wait. The second of two appends at the same offset finds another length.
 */
export async function appendText(
  { db, caller }: WriteContext<'user'>,
  { channelId, messageId, text, at }: AppendInput,
) {
  const isOwn = db`
    ms.message_id = ${messageId}
    and ms.app_id is not distinct from ${caller.appId}
    and ms.channel_id is not distinct from ${channelId}
    and ms.user_id is not distinct from ${caller.userId}`
  const isMember = db`exists (
    select
    from members m
    where m.channel_id = ms.channel_id
      and m.user_id = ms.user_id
  )`
  const [, [grown]] = await pipelined([
    db`
      select
      from message_streams ms
      where ${isOwn}
      for no key update`,
    db<Grown[]>`
      update message_streams ms
      set
        tail = ms.tail || ${text},
        length = ms.length + ${text.length}::int,
        characters = ms.characters + ${[...text].length}::int,
        appended_at = clock_timestamp()
      from channels c
      where ${isOwn}
        and ms.length = ${at}
        and ms.characters + ${[...text].length}::int <= ${limits.textLength}
        and c.id = ms.channel_id
        and c.deleted_at is null
        and c.frozen is not true
        and ${isMember}
      returning ms.length, ${isLargeChannelRow(db)} as is_large`,
  ])
  return grown
}

type GrownText = { userId: string; text: string; streaming: boolean | null }

/**
 * The length of the text if it contains this append already. Throws for every other append that
 * could not be made, and for an empty one, which has not kept the stream alive.
 */
export async function lengthIfRepeated(ctx: Context<'user'>, append: AppendInput) {
  const { db, caller } = ctx
  const { channelId, messageId, text, at } = append
  const { frozen } = await channelForMember(ctx, channelId)
  const [message] = await db<GrownText[]>`
    select msg.user_id, msg.text || coalesce(ms.tail, '') as text, msg.streaming
    from messages msg
    left join message_streams ms on ms.message_id = msg.id
    where msg.id = ${messageId}
      and msg.app_id is not distinct from ${caller.appId}
      and msg.channel_id is not distinct from ${channelId}
      and msg.deleted_at is null`
  if (!message) throw messageNotFound()
  if (message.userId !== caller.userId) throw notAuthor()
  if (message.streaming === null) throw notStreaming()
  const { length } = message.text
  if (text !== '' && at <= length && message.text.startsWith(text, at)) return length
  if (!message.streaming) throw new ApiError('FORBIDDEN', 'The message has ended')
  if (frozen) throw channelFrozen()
  if (at !== length) {
    throw new ApiError('VALIDATION_ERROR', `at: expected ${length}, the length so far`)
  }
  const whole = [...message.text].length + [...text].length
  if (whole > limits.textLength) {
    const most = `expected at most ${limits.textLength} characters in all`
    throw new ApiError('VALIDATION_ERROR', `text: ${most}`)
  }
  throw new ApiError('UNAVAILABLE', 'The message was changed meanwhile: try again', 1)
}
