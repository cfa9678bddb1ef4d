import { limits } from '@parley/contract'
import { z } from 'zod'
import type { Publication, PushEncoder } from '../publication.ts'
import type { ProtocolError } from './codes.ts'

/** Decodes commands from frames, and encodes replies and pushes, in one of the two encodings. */
export type Codec = PushEncoder & {
  isBinary: boolean
  /** The messages of a frame, each found when it is asked for. Throws for a malformed frame. */
  split(frame: Buffer): Iterator<Buffer, void>
  /** The command in a message; throws for anything malformed. */
  decode(message: Buffer): ClientCommand
  encodeReply(reply: Reply): Buffer
  /** The push that ends a subscription. */
  encodeUnsubscribe(channel: string, unsubscribe: { code: number; reason: string }): Buffer
  /** The push that says why a connection ends, for transports without close codes. */
  encodeDisconnect(disconnect: { code: number; reason: string }): Buffer
  /** Joins encoded messages into one frame. */
  join(messages: readonly Buffer[]): Buffer
  /** A whole frame. */
  ping: Buffer
}

// No topic has a higher one: the database counts in 32 bits.
const offset = z.int().min(0).max(limits.largestInteger).default(0)
const position = z.object({ offset, epoch: z.string().default('') })
const requests = {
  connect: z.object({ token: z.string().default('') }),
  subscribe: z.object({
    channel: z.string().min(1),
    join_leave: z.boolean().default(false),
    recover: z.boolean().default(false),
    epoch: z.string().default(''),
    offset,
    flag: z.int().default(0),
  }),
  unsubscribe: z.object({ channel: z.string().default('') }),
  publish: z.object({ channel: z.string().default('') }),
  presence: z.object({ channel: z.string().default('') }),
  presence_stats: z.object({ channel: z.string().default('') }),
  history: z.object({
    channel: z.string().default(''),
    limit: z.int().default(0),
    since: position.nullish(),
    reverse: z.boolean().default(false),
  }),
  ping: z.object({}),
  send: z.object({}),
  rpc: z.object({}),
  refresh: z.object({ token: z.string().default('') }),
  sub_refresh: z.object({ channel: z.string().default('') }),
}
type Requests = typeof requests
type RequestName = keyof Requests
/** A command with exactly one request, or a pong. */
export type ClientCommand =
  | {
      [Name in RequestName]: { id: number; name: Name; request: z.output<Requests[Name]> }
    }[RequestName]
  | { name: 'pong' }
export type CommandOf<Name extends RequestName> = Extract<ClientCommand, { name: Name }>

/** The protocol's ids are unsigned 32-bit integers. */
const Id = z
  .int()
  .min(0)
  .max(2 ** 32 - 1)
const names = Object.keys(requests) as RequestName[] // Object.keys forgets the literal names

/** The fields of a message. None has a name that objects inherit. */
type Fields = { [Name in RequestName | 'id']?: unknown }

/** Parses a decoded message. Both encodings decode to the same fields. */
export function parseCommand(message: unknown): ClientCommand {
  if (typeof message !== 'object' || message === null || Array.isArray(message))
    throw new Error('expected an object')
  const fields: Fields = message
  const present = names.filter((name) => (fields[name] ?? undefined) !== undefined)
  const [name] = present
  const id = Id.parse(fields.id ?? 0)
  if (name === undefined && id === 0) return { name: 'pong' }
  if (name === undefined || present.length > 1)
    throw new Error('expected exactly one known request')
  if (id === 0 && name !== 'send') throw new Error('expected an id')
  const request = requests[name].parse(fields[name])
  return { id, name, request } as ClientCommand // parsed by the schema of that name
}

type ExpiryFields = { expires?: true; ttl?: number }
export type ReplyResults = {
  connect: {
    client: string
    version: string
    data: object
    ping: number
    pong: true
    node: string
    session?: string
  } & ExpiryFields
  subscribe: {
    recoverable: true
    positioned: true
    epoch: string
    offset?: number
    recovered?: true
    was_recovering?: true
    publications?: Publication[]
  }
  unsubscribe: object
  presence: { presence?: Record<string, { user: string; client: string }> }
  presence_stats: { num_clients?: number; num_users?: number }
  history: { epoch: string; offset?: number; publications?: Publication[] }
  refresh: { client: string; version: string } & ExpiryFields
  sub_refresh: object
}
/** A reply. Fields with their default value are left out. */
export type Reply = { id: number } & (
  | { error: ProtocolError }
  | { [Name in keyof ReplyResults]: { [Key in Name]: ReplyResults[Key] } }[keyof ReplyResults]
)
