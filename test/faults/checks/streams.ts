import { limits } from '@parley/contract'
import { splicedTexts } from '../../support/splice.ts'
import type { Check, FoundMessage, History, Stream } from '../history.ts'

/**
 * A message that grew has ended. Its text is the beginning of what its author wrote, with all that
 * was stored; the whole of it if the author came to the end, and otherwise it is interrupted.
 */
export const streamsKept: Check = (history) =>
  history.found.listings.flatMap(({ node, channelId, messages }) =>
    history.streams
      .filter((stream) => stream.channelId === channelId)
      .flatMap((stream) => {
        const message = messages.find(({ clientId }) => clientId === stream.clientId)
        if (!message)
          return stream.stored > 0 ? [`node ${node}: ${stream.clientId} is missing`] : []
        return wrongIn(message, stream).map((wrong) => `node ${node}: ${stream.clientId} ${wrong}`)
      }),
  )

function wrongIn({ text, isStreaming, isInterrupted }: FoundMessage, stream: Stream) {
  const { stored, hasEnded } = stream
  return [
    isStreaming && 'still grows',
    !stream.text.startsWith(text) && 'is not the beginning of what was written',
    text.length < stored && `has ${text.length} characters of ${stored} that were stored`,
    hasEnded && text !== stream.text && 'is not whole',
    hasEnded === isInterrupted && `is interrupted: ${isInterrupted}, and ended: ${hasEnded}`,
  ].filter((wrong) => wrong !== false && wrong !== undefined)
}

/** Each watcher's text is always a beginning of the whole, and in the end the stored text. */
export const streamsSpliced: Check = (history) =>
  eachWatched(history, ({ stream, message, received, watcher }) => {
    const texts = splicedTexts(received)
    return [
      ...(texts.every((text) => stream.text.startsWith(text))
        ? []
        : [`${watcher} saw what ${stream.clientId} never was`]),
      ...(texts.at(-1) === message.text
        ? []
        : [`${watcher} has ${texts.at(-1)?.length} of ${message.text.length} characters`]),
    ]
  })

const QUIET_MS = 1_000 * limits.streams.quietSeconds
/** The database and the rig read their clocks at different moments. */
const TOLERANCE_MS = 1_000

/** A message is interrupted once its author was quiet for `quietSeconds`, and not before. */
export const streamsInterruptedInTime: Check = (history) =>
  eachWatched(history, ({ stream, received, watcher }) => {
    const end = received.find(({ hasEnded }) => hasEnded)?.time
    if (end === undefined || stream.hasEnded) return []
    const [earliest, latest] = [
      stream.storedAt + QUIET_MS - TOLERANCE_MS,
      stream.quietAt + QUIET_MS + history.convergeWithinMs,
    ]
    if (end >= earliest && end <= latest) return []
    const late = Math.round(end - stream.quietAt)
    return [`${watcher}: ${stream.clientId} ended ${late} ms after its bot`]
  })

/** Each member gets a push for it, when it has ended. */
export const streamsPushed: Check = ({ streams, found, pushes, members }) => {
  const made = new Set(pushes.map((push) => push.split(':').slice(0, 2).join(':')))
  const ended = found.listings
    .flatMap(({ messages }) => messages)
    .filter(({ clientId, text }) => text !== '' && streams.some((one) => one.clientId === clientId))
  return [...new Set(ended.map(({ id }) => id))].flatMap((id) =>
    members
      .filter((member) => !made.has(`${id}:${member}`))
      .map((member) => `${member} got no push for the streamed message ${id}`),
  )
}

type Watched = {
  stream: Stream
  message: FoundMessage
  received: NonNullable<History['subscriptions'][number]['received'][number]['growth']>[]
  watcher: string
}

/** Checks what each subscription received of each message that grew. */
function eachWatched(history: History, check: (watched: Watched) => string[]) {
  const { streams, found, subscriptions } = history
  return streams.flatMap((stream) => {
    const topic = found.channels.find(({ id }) => id === stream.channelId)?.topic
    const listing = found.listings.find(({ channelId }) => channelId === stream.channelId)
    const message = listing?.messages.find(({ clientId }) => clientId === stream.clientId)
    if (!message) return []
    return subscriptions
      .filter((one) => one.topic === topic)
      .flatMap(({ userId, received }) =>
        check({
          stream,
          message,
          received: received.flatMap(({ messageId, growth }) =>
            messageId === message.id && growth ? growth : [],
          ),
          watcher: userId,
        }),
      )
  })
}
