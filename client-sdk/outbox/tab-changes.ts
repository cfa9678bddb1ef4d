import type { OutboxOperation } from '../storage.ts'
import type { Message } from '../types.ts'
import { createEntry, isOperation, isSend, type OutboxEntry, toError } from './entry.ts'
import type { OutboxStep } from './steps.ts'
import type { TabChange } from './tabs.ts'

type SharedOutbox = {
  entries: Map<string, OutboxEntry>
  isSender: boolean
  onStep: (step: OutboxStep) => void
  onSent: (entry: OutboxEntry, message: Message) => void
  onChanged: (entry: OutboxEntry) => void
}

/** Another tab has changed the outbox, and has stored that. */
export function applyTabChange(message: TabChange, outbox: SharedOutbox) {
  if (message.kind === 'put') {
    if (isOperation(message.operation)) put(message.operation, outbox)
    return
  }
  const { entries, onStep, onSent, onChanged } = outbox
  const entry = entries.get(message.clientId)
  if (!entry) return
  const { operation, done } = entry
  entries.delete(message.clientId)
  if (message.kind === 'replaced') {
    entries.get(message.by)?.done.promise.then(done.resolve, done.reject)
    onStep({ kind: 'done', operation, result: undefined })
  } else if (message.error) {
    const error = toError(message.error)
    if (!isSend(operation)) onStep({ kind: 'refused', operation, error })
    done.reject(error)
  } else {
    const { result } = message
    if (isSend(operation)) onSent(entry, result as Message) // as it was answered
    onStep({ kind: 'done', operation, result })
    done.resolve(result)
  }
  onChanged(entry)
}

function put(operation: OutboxOperation, { entries, isSender, onStep, onChanged }: SharedOutbox) {
  const known = entries.get(operation.clientId)
  if (known?.isSending) return
  const next = createEntry(operation, { wasTried: !isSender || known?.wasTried })
  if (known?.error && !next.error) entries.delete(operation.clientId)
  if (known && !known.error && next.error) known.done.reject(next.error)
  const done = known && !known.error ? known.done : next.done
  const entry = known ? Object.assign(known, { ...next, done }) : next
  entries.set(operation.clientId, entry)
  if (!next.error) onStep({ kind: 'queued', operation })
  onChanged(entry)
}
