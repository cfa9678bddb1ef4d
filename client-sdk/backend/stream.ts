import { ChatError, toChatError } from '../calls/error.ts'
import type { Message, UserApi } from '../generated/types.ts'
import { newId } from '../shared/platform.ts'

type SendArgs = Parameters<UserApi['messages']['send']>[0]
/** The fields of a streamed message besides its text. */
export type StreamOptions = Omit<SendArgs, 'channelId' | 'text' | 'streaming' | 'type'>

/** A message whose text grows while it is written. */
export type MessageStream = {
  /** The message as it began. */
  message: Promise<Message>
  /**
   * Appends text. Resolves once the text is stored; there is no need to wait before the next call:
   * what is written during a call goes with the next one. Text that was not written for 30 seconds
   * interrupts the message; an empty text keeps it alive. If it rejects with an error that is
   * `retryable`, nothing is lost: the next call goes on there. Once the server has refused a part,
   * it and every later call reject.
   */
  write: (text: string) => Promise<void>
  /** Stores what was written and finishes the message. Later calls return the same message. */
  end: () => Promise<Message>
}

type StreamApi = Pick<UserApi, 'messages' | 'streams'>

/** Sends a message whose text is written bit by bit. */
export function openStream(
  api: StreamApi,
  channelId: string,
  options: StreamOptions = {},
): MessageStream {
  const clientId = options.clientId ?? newId()
  const message = api.messages.send({
    ...options,
    channelId,
    text: '',
    streaming: true,
    clientId,
  })
  const append = createAppender(api, message)
  let unsent = ''
  /** A part without an answer. It is sent again as it was, before what was written since. */
  let lost: string | undefined
  let isDue = false
  let isBegun = false
  let isEnding = false
  let hasFailed = false
  let sending: Promise<void> | undefined
  let ended: Promise<Message> | undefined

  message.then(
    () => (isBegun = true),
    () => {},
  )

  const nextPart = () => {
    const length = unsent.length - (endsInHalf(unsent) && !isEnding ? 1 : 0)
    const text = unsent.slice(0, length).toWellFormed()
    unsent = unsent.slice(length)
    return text
  }
  const send = async () => {
    while (isDue) {
      isDue = lost !== undefined
      const text = lost ?? nextPart()
      lost = undefined
      await append(text).catch((error) => {
        lost = text
        throw error
      })
    }
    sending = undefined
  }
  const sendAll = () => {
    isDue = true
    sending ??= send().catch((error) => {
      hasFailed = !isBegun || !toChatError(error).retryable
      // A refusal answers all later calls.
      if (!hasFailed) sending = undefined
      throw error
    })
    return sending
  }
  const finish = async () => {
    isEnding = true
    if (unsent === '' && lost === undefined) await sending
    else await sendAll()
    const { id: messageId } = await message
    return api.streams.finish({ channelId, messageId })
  }
  return {
    message: handled(message),
    write: (text) => {
      if (isEnding) return handled(Promise.reject(endedError()))
      if (!hasFailed) unsent += text
      return handled(sendAll())
    },
    end: () => {
      ended ??= finish().catch((error) => {
        if (toChatError(error).retryable) ended = undefined
        throw error
      })
      return handled(ended)
    },
  }
}

function createAppender({ streams }: StreamApi, message: Promise<Message>) {
  let at: number | undefined
  return async (text: string) => {
    const { id: messageId, channelId, text: beginning } = await message
    at ??= beginning.length
    const { length } = await streams.append({ channelId, messageId, text, at })
    at = length
  }
}

/** A character of two code units whose second one is yet to be written. */
const endsInHalf = (text: string) => /[\uD800-\uDBFF]$/.test(text)

const endedError = () => new ChatError('the stream has ended', { code: 'VALIDATION_ERROR' })

/** A promise that need not be awaited: its error is also that of `end`. */
function handled<T>(promise: Promise<T>): Promise<T> {
  const rejecting = promise.catch((error) => {
    throw toChatError(error)
  })
  rejecting.catch(() => {})
  return rejecting
}
