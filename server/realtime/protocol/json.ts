import type { Encoding, Publication } from '../publication.ts'
import { type Codec, parseCommand, type Reply } from './codec.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })
const NEWLINE = Buffer.from('\n')

/**
 * A message is a JSON object, and a frame holds one on each line. Envelopes are JSON already and
 * are inserted as they are.
 */
export const json: Codec = {
  encoding: 'json',
  isBinary: false,
  split: splitLines,
  decode: (message) => parseCommand(JSON.parse(utf8.decode(message))),
  encodeReply: (reply) => Buffer.from(writeReply(reply)),
  encodePush: (channel, publication) =>
    Buffer.from(
      `{"push":{"channel":${JSON.stringify(channel)},"pub":${writePublication(publication)}}}`,
    ),
  encodeUnsubscribe: (channel, unsubscribe) =>
    Buffer.from(JSON.stringify({ push: { channel, unsubscribe } })),
  encodeDisconnect: (disconnect) => Buffer.from(JSON.stringify({ push: { disconnect } })),
  join: (messages) =>
    Buffer.concat(
      messages.flatMap((message, index) => (index === 0 ? [message] : [NEWLINE, message])),
    ),
  ping: Buffer.from('{}'),
}

/** JSON in a response that does not end: each message is complete, and they follow each other. */
const streamed = (encoding: Encoding, [before, after]: [string, string]): Codec => {
  const wrap = (message: Buffer) =>
    Buffer.concat([Buffer.from(before), message, Buffer.from(after)])
  return {
    ...json,
    encoding,
    encodeReply: (reply) => wrap(json.encodeReply(reply)),
    encodePush: (channel, publication) => wrap(json.encodePush(channel, publication)),
    encodeUnsubscribe: (channel, unsubscribe) => wrap(json.encodeUnsubscribe(channel, unsubscribe)),
    encodeDisconnect: (disconnect) => wrap(json.encodeDisconnect(disconnect)),
    join: (messages) => Buffer.concat(messages),
    ping: wrap(json.ping),
  }
}

/** A message on each line. */
export const jsonLines = streamed('json-lines', ['', '\n'])
/** A message in each server-sent event. */
export const eventStream = streamed('event-stream', ['data: ', '\n\n'])

function* splitLines(frame: Buffer) {
  for (let start = 0; start < frame.length; ) {
    const found = frame.indexOf('\n', start)
    const end = found === -1 ? frame.length : found
    yield frame.subarray(start, end)
    start = end + 1
  }
}

function writeReply(reply: Reply) {
  if ('subscribe' in reply && reply.subscribe.publications)
    return withPublications(
      { ...reply, subscribe: { ...reply.subscribe, publications: undefined } },
      reply.subscribe.publications,
    )
  if ('history' in reply && reply.history.publications)
    return withPublications(
      { ...reply, history: { ...reply.history, publications: undefined } },
      reply.history.publications,
    )
  return JSON.stringify(reply)
}

/** The result is the reply's last field and not empty: publications go before its closing brace. */
const withPublications = (reply: object, publications: Publication[]) => {
  const text = JSON.stringify(reply)
  return publications.length === 0
    ? text
    : `${text.slice(0, -2)},"publications":[${publications.map(writePublication).join(',')}]}}`
}

const writePublication = ({ offset, envelope }: Publication) =>
  offset === null ? `{"data":${envelope}}` : `{"data":${envelope},"offset":${offset}}`
