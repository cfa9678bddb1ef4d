import type { OutboxOperation, Outgoing } from '../backing-store/storage.ts'
import type { CallOptions } from '../calls/call-options.ts'
import { ChatError, isChatError } from '../calls/error.ts'
import { clampPause, statusOf } from '../calls/retry.ts'
import type { BatchError, UserApi } from '../generated/types.ts'
import { isSend, type OutboxEntry } from './entry.ts'

export type OutboxApi = Pick<UserApi, 'messages' | 'reactions' | 'pins' | 'reads'>

/** Only messages are sent in batches. */
type Sends = Omit<Outgoing, 'type'>[]
type Attempted = Pick<OutboxEntry, 'op'>

/**
 * Carries out an operation, or sends messages of one channel in one call. A repeat has the effect
 * of one. One outcome for each.
 */
export async function perform(
  api: OutboxApi,
  entries: readonly Attempted[],
  options: CallOptions,
): Promise<unknown[]> {
  const [first] = entries
  if (!first) return []
  if (entries.length === 1) return [await performOne(api, first, options)]
  const { channelId } = first.op
  const messages = entries.map(({ op }) => inputOf(op)) as Sends
  const { results } = await api.messages.sendBatch({ channelId, messages }, options)
  const lost = { code: 'UNAVAILABLE', message: 'no answer' } as const
  return entries.map((_, index) => {
    const { message, error = lost } = results[index] ?? {}
    return message ?? toError(error)
  })
}

async function performOne(
  { messages, reactions, pins, reads }: OutboxApi,
  { op }: Attempted,
  options: CallOptions,
): Promise<unknown> {
  if (op.type === 'read') {
    const { channelId, messageId } = op
    return reads.mark({ channelId, messageId }, options)
  }
  const call = {
    send: messages.send,
    edit: messages.edit,
    delete: messages.delete,
    react: reactions.add,
    unreact: reactions.remove,
    pin: pins.pin,
    unpin: pins.unpin,
  }[op.type ?? 'send'] as (input: object, options: CallOptions) => Promise<unknown>
  // An operation has its call's fields.
  return call(inputOf(op), options)
}

/**
 * The input of an operation's call. A tab with a newer build of the application may have stored
 * more fields than this one knows: they are sent as well.
 */
function inputOf(op: OutboxOperation) {
  const { type: _type, createdAt: _createdAt, failure: _failure, clientId, ...input } = op
  return isSend(op) ? { ...input, clientId } : input
}

/** A repeated deletion finds nothing left to delete. */
export const isDoneAlready = ({ type }: OutboxOperation, error: ChatError, wasTried: boolean) =>
  type === 'delete' && wasTried && isChatError(error, 'NOT_FOUND')

/** Not the operation's fault: without a network or a valid token it waits. */
export const isTemporary = ({ retryable, code }: ChatError) =>
  retryable || code === 'INVALID_TOKEN' || code === 'UNAUTHORIZED'

/** Whether the server may have carried it out nevertheless. Without a token it was not asked. */
export const mayHaveEffect = ({ status, code }: ChatError) =>
  status >= 500 || (status === 0 && code !== 'TOKEN_PROVIDER_FAILED')

function toError({ code, message, retryAfterSeconds }: BatchError) {
  const retryAfterMs = clampPause(Number(retryAfterSeconds) * 1_000)
  return new ChatError(message, { code, status: statusOf(code) ?? 0, retryAfterMs })
}
