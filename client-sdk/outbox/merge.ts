import { ChatError } from '../error.ts'
import type { OutboxOperation } from '../storage.ts'
import { createEntry, type OutboxEntry } from './entry.ts'
import type { Stored } from './journal.ts'
import type { OutboxOptions } from './options.ts'

/**
 * The entries of a tab together with what is stored. Those that were stored and are no longer are
 * `gone`: another tab has sent or discarded them.
 */
export function mergeStored(
  known: ReadonlyMap<string, OutboxEntry>,
  { operations, wasStored }: Stored,
) {
  const entryOf = (operation: OutboxOperation) =>
    known.get(operation.clientId) ?? createEntry(operation, { wasTried: true })
  const loaded = new Map(operations.map((each) => [each.clientId, entryOf(each)]))
  const isGone = ({ operation: { clientId } }: OutboxEntry) =>
    wasStored.has(clientId) && !loaded.has(clientId)
  const here = [...known.values()]
  const kept = here.filter((entry) => !isGone(entry))
  return {
    entries: new Map([
      ...loaded,
      ...kept.map((entry) => [entry.operation.clientId, entry] as const),
    ]),
    added: [...loaded.values()].filter(({ operation }) => !known.has(operation.clientId)),
    gone: here.filter(isGone),
  }
}

/** Shows what was added. Of entries that are gone only another tab knows the outcome. */
export function showMerged(
  { entries, added, gone }: ReturnType<typeof mergeStored>,
  { onStep, onChange }: Pick<OutboxOptions, 'onStep' | 'onChange'>,
) {
  for (const { operation } of added) onStep({ kind: 'queued', operation })
  for (const { operation, done } of gone) {
    onStep({ kind: 'done', operation, result: undefined })
    done.reject(new ChatError('another tab has sent or discarded it', { code: 'ABORTED' }))
  }
  for (const { operation } of [...entries.values(), ...gone]) onChange(operation.channelId)
}
