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
): Promise<unknown> {
  const { channelId } = operation
  if (operation.type === 'read') {
    const { messageId, isEverything } = operation
    // What arrived since the first attempt was not seen.
    const upTo = messageId === undefined || (isEverything && !wasTried) ? {} : { messageId }
    return reads.mark({ channelId, ...upTo })
  }
  const ref = { channelId, messageId: operation.messageId }
  switch (operation.type) {
    case 'edit': {
      const { text, custom, ifEditedAt } = operation
      return messages.edit({ ...ref, text, custom, ifEditedAt })
    }
    case 'delete':
      return messages.delete(ref)
    case 'react':
      return reactions.add({ ...ref, emoji: operation.emoji })
    case 'unreact':
      return reactions.remove({ ...ref, emoji: operation.emoji })
    case 'pin':
      return pins.pin(ref)
    case 'unpin':
      return pins.unpin(ref)
  }
}

/** A repeated deletion finds nothing left to delete. */
export const isDoneAlready = ({ type }: OutboxOperation, error: ChatError, wasTried: boolean) =>
  type === 'delete' && wasTried && isChatError(error, 'NOT_FOUND')

export type SendOutcome = Message | ChatError

/** Sends messages of one channel, in one call if there are several. One outcome for each. */
export async function sendAll(
  { messages }: OutboxApi,
  outgoing: readonly Outgoing[],
): Promise<SendOutcome[]> {
  const [first] = outgoing
  if (!first) return []
  const { channelId } = first
  if (outgoing.length === 1) return [await messages.send({ channelId, ...draftOf(first) })]
  const { results } = await messages.sendBatch({ channelId, messages: outgoing.map(draftOf) })
  const lost = { code: 'UNAVAILABLE', message: 'the server left out a message' } as const
  return outgoing.map((_, index) => {
    const { message, error = lost } = results[index] ?? {}
    return message ?? toError(error)
  })
}

const draftOf = (outgoing: Outgoing) => {
  const { clientId, text, attachments, parentId, quotedMessageId, custom } = outgoing
  return { clientId, text, attachments, parentId, quotedMessageId, custom }
}

function toError({ code, message, retryAfterSeconds }: BatchError) {
  const retryAfterMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1_000
  return new ChatError(message, { code, status: statusOf(code), retryAfterMs })
}
