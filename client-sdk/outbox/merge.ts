import type { OutboxOperation } from '../backing-store/storage.ts'
import { aborted } from '../calls/error.ts'
import { createEntry, type OutboxEntry } from './entry.ts'
import type { StoredOperations } from './journal.ts'
import type { OutboxOptions } from './options.ts'

/**
 * The entries of a tab together with what is stored. Those that were stored and are no longer are
 * `gone`: another tab has sent or discarded them.
 */
export function mergeStored(
  known: ReadonlyMap<string, OutboxEntry>,
  { operations, wasStored }: StoredOperations,
) {
  const entryOf = (op: OutboxOperation) =>
    known.get(op.clientId) ?? createEntry(op, { wasTried: true })
  const loaded = new Map(operations.map((each) => [each.clientId, entryOf(each)]))
  const isGone = ({ op: { clientId } }: OutboxEntry) =>
    wasStored.has(clientId) && !loaded.has(clientId)
  const here = [...known.values()]
  const kept = here.filter((entry) => !isGone(entry))
  return {
    queued: new Map([...loaded, ...kept.map((entry) => [entry.op.clientId, entry] as const)]),
    added: [...loaded.values()].filter(({ op }) => !known.has(op.clientId)),
    gone: here.filter(isGone),
  }
}

/** Shows what was added. Of entries that are gone only another tab knows the outcome. */
export function showMerged(
  { queued, added, gone }: ReturnType<typeof mergeStored>,
  { onStep, onChanged }: Pick<OutboxOptions, 'onStep' | 'onChanged'>,
) {
  for (const { op } of added) onStep({ kind: 'queued', op })
  for (const { op, completion } of gone) {
    onStep({ kind: 'done', op, result: undefined })
    completion.reject(aborted('settled elsewhere'))
  }
  for (const { op } of [...queued.values(), ...gone]) onChanged(op.channelId)
}
