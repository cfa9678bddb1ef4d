import type { OutboxOperation } from '../backing-store/storage.ts'
import type { ChatError } from '../calls/error.ts'

/** An operation before it is in the outbox. */
export type NewOperation = OutboxOperation extends infer Each
  ? Each extends OutboxOperation
    ? Omit<Each, 'createdAt'>
    : never
  : never

/** An operation before its channel is known. */
export type Unplaced<Operation> = Operation extends object
  ? Omit<Operation, 'clientId' | 'channelId'>
  : never

/** A step of an operation; `refused` takes back what was shown of it. */
export type OutboxStep = { op: OutboxOperation } & (
  | { kind: 'queued' | 'started'; result?: undefined }
  | { kind: 'done'; result: unknown }
  | { kind: 'refused'; error: ChatError; result?: undefined }
)
