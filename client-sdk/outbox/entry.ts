import type { MessageEdit, OutboxOperation, Outgoing } from '../backing-store/storage.ts'
import { ChatError } from '../calls/error.ts'
import type { Message } from '../generated/types.ts'
import { createDeferred, type Deferred } from '../shared/timing.ts'

/** An operation that the server does not have yet, as far as this client knows. */
export type OutboxEntry<Operation extends OutboxOperation = OutboxOperation> = {
  op: Operation
  /** The server's answer: of a message that was sent or edited, the message. */
  completion: Deferred<unknown>
  /** Why the server refused it. Only messages stay after that. */
  error?: ChatError | undefined
  /** How often the server failed at this operation although it worked otherwise. */
  serverFailures: number
  /** The server may have carried it out: an attempt was made whose answer is not known. */
  wasTried: boolean
  isSending: boolean
  /** The server's message, once it is sent. */
  message?: Message
}
export type OutgoingEntry = OutboxEntry<Outgoing>

export function createEntry(op: OutboxOperation, { wasTried = false } = {}): OutboxEntry {
  const error = op.failure && toError(op.failure)
  const completion = createDeferred<unknown>()
  if (error) completion.reject(error)
  return {
    op,
    error,
    serverFailures: 0,
    wasTried,
    isSending: false,
    completion,
  }
}

/** An error as it is stored and posted to other tabs. */
export type StoredError = NonNullable<OutboxOperation['failure']>
export const toStored = ({ code, message, status }: ChatError): StoredError => ({
  code,
  message,
  status,
})
export const toError = ({ message, code, status }: StoredError) =>
  new ChatError(message, { code: code as ChatError['code'], status }) // as it was stored

export const isSend = (op: OutboxOperation): op is Outgoing =>
  op.type === undefined || op.type === 'send'
export const isOutgoing = (entry: OutboxEntry): entry is OutgoingEntry => isSend(entry.op)

/** The message that an operation changes: its id, or its `clientId` while it is unsent. */
export const targetOf = (op: OutboxOperation) =>
  isSend(op) || op.type === 'read' ? undefined : op.messageId

/** The fields of an operation that name a message by its `clientId`, since it was unsent then. */
export const referencesTo = (clientId: string, op: object) =>
  Object.entries(op).filter(
    ([name, value]) => /^(message|parent|quotedMessage)Id$/.test(name) && value === clientId,
  )

/** Operations of a line are carried out in order. Reading needs none: it never moves back. */
export const lineOf = ({ type, channelId }: OutboxOperation) =>
  type === 'read' ? `read ${channelId}` : channelId

/** Of operations with the same key only the last one matters. Messages all matter. */
export function keyOf(op: OutboxOperation): string | undefined {
  if (isSend(op)) return undefined
  // Two changes of metadata are not the same as one, and who knows of the rest?
  if (hasUnknownFields(op)) return undefined
  if (op.type === 'edit' && op.custom !== undefined) return undefined
  const emoji = 'emoji' in op ? op.emoji : ''
  // A pin and its removal have the same key, and so have a reaction and its own.
  return `${op.type.replace('un', '')} ${targetOf(op)} ${emoji}`
}

/** A message as an edit leaves it. */
export function withEdit<Edited extends Pick<Outgoing, 'text' | 'custom'>>(
  message: Edited,
  { text = message.text, custom }: MessageEdit,
): Edited {
  if (custom === undefined) return { ...message, text }
  const all = Object.entries({ ...(custom && message.custom), ...custom })
  return { ...message, text, custom: Object.fromEntries(all.filter(([, value]) => value !== null)) }
}

/** The fields of an edit. */
const KNOWN = /^(type|clientId|channelId|createdAt|failure|messageId|text|custom|ifEditedAt)$/

/** Fields of an edit that only a newer build of the application, in another tab, knows. */
export const unknownFields = (edit: object) =>
  Object.fromEntries(Object.entries(edit).filter(([name]) => !KNOWN.test(name)))

/** Whether an edit is of a newer build: it is sent as it is. */
export const hasUnknownFields = (op: OutboxOperation) =>
  op.type === 'edit' && Object.keys(unknownFields(op)).length > 0

/** The fields of each type. Other rows are damaged, or of a later version of this client. */
const FIELDS: Record<string, string[]> = {
  send: ['text'],
  edit: ['messageId'],
  delete: ['messageId'],
  pin: ['messageId'],
  unpin: ['messageId'],
  react: ['messageId', 'emoji'],
  unreact: ['messageId', 'emoji'],
  read: [],
}
/** Whether a row that was stored, or came from another tab, is an operation this client knows. */
export function isOperation(row: object): row is OutboxOperation {
  const given = row as Record<string, unknown> // checked here
  const { type = 'send' } = given
  const own = typeof type === 'string' ? FIELDS[type] : undefined
  const names = ['clientId', 'channelId', 'createdAt', ...(own ?? [])]
  const isComplete = own !== undefined && names.every((name) => typeof given[name] === 'string')
  return isComplete && (type !== 'send' || Array.isArray(given.attachments))
}
