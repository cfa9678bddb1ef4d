import { readFileSync } from 'node:fs'
import protobufjs from 'protobufjs'
import type { Publication } from '../publication.ts'
import { type Codec, parseCommand, type Reply } from './codec.ts'

const schema = protobufjs.parse(
  readFileSync(new URL('./centrifuge.proto', import.meta.url), 'utf8'),
  { keepCase: true },
).root
const CommandMessage = schema.lookupType('Command')
const ReplyMessage = schema.lookupType('Reply')
const EmulationMessage = schema.lookupType('EmulationRequest')

/** Each message follows its length. JSON inside messages (envelopes, data) is bytes. */
export const protobuf: Codec = {
  encoding: 'protobuf',
  isBinary: true,
  split: splitByLengths,
  decode: (message) =>
    parseCommand(CommandMessage.toObject(CommandMessage.decode(message), { longs: Number })),
  encodeReply: (reply) => encode(toMessage(reply)),
  encodePush: (channel, publication) =>
    encode({ push: { channel, pub: toPublication(publication) } }),
  encodeUnsubscribe: (channel, unsubscribe) => encode({ push: { channel, unsubscribe } }),
  encodeDisconnect: (disconnect) => encode({ push: { disconnect } }),
  join: (messages) => Buffer.concat(messages),
  ping: Buffer.from([0]),
}

function* splitByLengths(frame: Buffer) {
  const reader = protobufjs.Reader.create(frame)
  while (reader.pos < reader.len) {
    const length = reader.uint32()
    const start = reader.pos
    reader.pos += length
    if (reader.pos > reader.len) throw new Error('expected a whole message')
    yield frame.subarray(start, reader.pos)
  }
}

const encode = (reply: object) => Buffer.from(ReplyMessage.encodeDelimited(reply).finish())

const toMessage = (reply: Reply): object => {
  if ('connect' in reply)
    return {
      ...reply,
      connect: { ...reply.connect, data: Buffer.from(JSON.stringify(reply.connect.data)) },
    }
  if ('subscribe' in reply)
    return {
      ...reply,
      subscribe: {
        ...reply.subscribe,
        publications: reply.subscribe.publications?.map(toPublication),
      },
    }
  if ('history' in reply)
    return {
      ...reply,
      history: { ...reply.history, publications: reply.history.publications?.map(toPublication) },
    }
  return reply
}

const toPublication = ({ offset, envelope }: Publication) => ({
  data: Buffer.from(envelope),
  ...(offset === null ? {} : { offset }),
})

/** The fields of an emulation request. Throws for anything malformed, and for too many of them. */
export const decodeEmulation = (body: Buffer, mostFields: number): unknown => {
  const reader = protobufjs.Reader.create(body)
  for (let count = 0; reader.pos < reader.len; count++) {
    if (count === mostFields) throw new Error('expected few fields')
    reader.skipType(reader.uint32() & WIRE_TYPE)
  }
  return EmulationMessage.toObject(EmulationMessage.decode(body), { defaults: true })
}
/** The bits of a field's tag that say how its value is encoded. */
const WIRE_TYPE = 7
