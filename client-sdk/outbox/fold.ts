import type { OutboxOperation } from '../backing-store/storage.ts'
import type { ChatError } from '../calls/error.ts'
import type { Message } from '../generated/types.ts'
import {
  hasUnknownFields,
  isOutgoing,
  keyOf,
  type OutboxEntry,
  type OutgoingEntry,
  targetOf,
  unknownFields,
  withEdit,
} from './entry.ts'

type Fold = {
  queued: ReadonlyMap<string, OutboxEntry>
  update: (entry: OutboxEntry, op: OutboxOperation) => void
  /** Another entry has the effect of this one, too. */
  replace: (entry: OutboxEntry, by: OutboxEntry) => void
  complete: (entry: OutboxEntry) => void
  refuse: (entry: OutboxEntry, error: ChatError) => void
  withdraw: (entry: OutboxEntry) => void
}

/** Makes the next entry ready to be sent. False if nothing is left to send of it. */
export function prepare(entry: OutboxEntry, fold: Fold): boolean {
  const { op, wasTried } = entry
  const failed = targetFailed(entry, fold.queued)
  if (failed) {
    changeFailed(entry, failed, fold)
    return false
  }
  if (wasTried) return true
  const { channelId, createdAt } = op
  const later = [...fold.queued.values()].filter(
    ({ op: each }) => each.channelId === channelId && each.createdAt > createdAt,
  )
  return foldInto(entry, later, fold)
}

/** Changes of a message that was refused never reach the server. */
function changeFailed(entry: OutboxEntry, failed: FailedEntry, fold: Fold) {
  const { op } = entry
  if (op.type === 'edit') fold.update(failed, { ...withEdit(failed.op, op), ...unknownFields(op) })
  if (op.type === 'delete') fold.withdraw(failed)
  if (op.type === 'edit' || op.type === 'delete') fold.complete(entry)
  else fold.refuse(entry, failed.error)
}

/** Edits that wait were made of this one, which is done. */
export function rebase(
  entries: Iterable<OutboxEntry>,
  { messageId }: { messageId: string },
  { result: { editedAt }, update }: Pick<Fold, 'update'> & { result: Partial<Message> },
) {
  if (editedAt === undefined) return
  for (const each of [...entries]) {
    const { op } = each
    if (op.type === 'edit' && op.messageId === messageId)
      update(each, { ...op, ifEditedAt: editedAt })
  }
}

/**
 * Folds later entries into one that was never sent: a message is sent as it was edited, or not at
 * all if it was deleted; of a reaction and its removal only the last counts. False if nothing of
 * the entry is left to send.
 */
function foldInto(entry: OutboxEntry, later: readonly OutboxEntry[], fold: Fold): boolean {
  if (isOutgoing(entry)) return foldIntoMessage(entry, later, fold)
  const key = keyOf(entry.op)
  const last = later.findLast(({ op }) => key !== undefined && keyOf(op) === key)
  if (!last) return true
  fold.update(last, merge(entry.op, last.op))
  fold.replace(entry, last)
  return false
}

function foldIntoMessage(entry: OutgoingEntry, later: readonly OutboxEntry[], fold: Fold) {
  const { clientId } = entry.op
  const changes = later.filter(({ op }) => targetOf(op) === clientId)
  if (changes.some(({ op }) => op.type === 'delete')) {
    for (const change of changes) fold.complete(change)
    fold.withdraw(entry)
    return false
  }
  for (const change of changes) {
    if (change.op.type !== 'edit') continue
    if (hasUnknownFields(change.op)) break
    fold.update(entry, withEdit(entry.op, change.op))
    fold.replace(change, entry)
  }
  return true
}

/** An edit is still one of what was seen first, and reading never moves back. */
function merge(first: OutboxOperation, last: OutboxOperation): OutboxOperation {
  if (first.type === 'edit' && last.type === 'edit')
    return { ...last, ifEditedAt: first.ifEditedAt }
  if (first.type === 'read' && last.type === 'read') {
    const { messageId, seq } = furtherRead(first, last)
    return { ...last, messageId, seq }
  }
  return last
}

type Read = { messageId?: string | undefined; seq?: number | undefined }

/**
 * The one of two reads that goes further: one of everything, or up to the later message. Of a
 * message that is not known, the last does.
 */
export function furtherRead<Each extends Read>(first: Each, last: Each): Each {
  const { seq: end = Number.POSITIVE_INFINITY } = last
  return !first.messageId || (last.messageId && (first.seq ?? 0) > end) ? first : last
}

type FailedEntry = OutgoingEntry & { error: ChatError }
const isFailed = (entry?: OutboxEntry): entry is FailedEntry =>
  entry?.error !== undefined && isOutgoing(entry)

/** The message that an operation changes, if it was refused. */
export function targetFailed({ op }: OutboxEntry, entries: ReadonlyMap<string, OutboxEntry>) {
  const target = entries.get(targetOf(op) ?? '')
  return isFailed(target) ? target : undefined
}
