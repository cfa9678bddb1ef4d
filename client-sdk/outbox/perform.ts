import type { CallOptions } from '../call-options.ts'
import { ChatError, isChatError } from '../error.ts'
import { statusOf } from '../retry.ts'
import type { OutboxOperation, Outgoing } from '../storage.ts'
import type { BatchError, Message, UserApi } from '../types.ts'

export type OutboxApi = Pick<UserApi, 'messages' | 'reactions' | 'pins' | 'reads'>
type StoredChange = Exclude<OutboxOperation, Outgoing>

/** Carries out an operation other than a send. A repeat has the effect of one. */
export async function perform(
  { messages, reactions, pins, reads }: OutboxApi,
  { operation, wasTried }: { operation: StoredChange; wasTried: boolean },
  options: CallOptions,
): Promise<unknown> {
  if (operation.type === 'read') {
    const { channelId, messageId, isEverything } = operation
    // What arrived since the first attempt was not seen.
    const upTo = messageId === undefined || (isEverything && !wasTried) ? {} : { messageId }
    return reads.mark({ channelId, ...upTo }, options)
  }
  const call = {
    edit: messages.edit,
    delete: messages.delete,
    react: reactions.add,
    unreact: reactions.remove,
    pin: pins.pin,
    unpin: pins.unpin,
  }[operation.type] as (input: object, options: CallOptions) => Promise<unknown> // an operation has its call's fields
  const { clientId: _, ...input } = inputOf(operation)
  return call(input, options)
}

/**
 * What an operation's call says. A tab with a newer build of the application may have stored more
 * than this one knows, and that is sent as well.
 */
const inputOf = <Operation extends OutboxOperation>({
  type: _type,
  createdAt: _createdAt,
  failure: _failure,
  ...input
}: Operation) => input

/** A repeated deletion finds nothing left to delete. */
export const isDoneAlready = ({ type }: OutboxOperation, error: ChatError, wasTried: boolean) =>
  type === 'delete' && wasTried && isChatError(error, 'NOT_FOUND')

export type SendOutcome = Message | ChatError

/** Sends messages of one channel, in one call if there are several. One outcome for each. */
export async function sendAll(
  { messages }: OutboxApi,
  outgoing: readonly Outgoing[],
  options: CallOptions,
): Promise<SendOutcome[]> {
  const [first] = outgoing
  if (!first) return []
  if (outgoing.length === 1) return [await messages.send(inputOf(first), options)]
  const { channelId } = first
  const batch = { channelId, messages: outgoing.map(inputOf) }
  const { results } = await messages.sendBatch(batch, options)
  const lost = { code: 'UNAVAILABLE', message: 'the server left out a message' } as const
  return outgoing.map((_, index) => {
    const { message, error = lost } = results[index] ?? {}
    return message ?? toError(error)
  })
}

function toError({ code, message, retryAfterSeconds }: BatchError) {
  const retryAfterMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1_000
  return new ChatError(message, { code, status: statusOf(code), retryAfterMs })
}
