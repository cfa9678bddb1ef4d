import type { OutboxOperation } from '../backing-store/storage.ts'
import type { Message } from '../generated/types.ts'
import { createEntry, isOperation, isSend, type OutboxEntry, toError } from './entry.ts'
import type { OutboxStep } from './steps.ts'
import type { TabChange } from './tabs.ts'

type SharedOutbox = {
  queued: Map<string, OutboxEntry>
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
  const { queued, onStep, onSent, onChanged } = outbox
  const entry = queued.get(message.clientId)
  if (!entry) return
  const { op, completion } = entry
  queued.delete(message.clientId)
  if (message.kind === 'replaced') {
    queued.get(message.by)?.completion.promise.then(completion.resolve, completion.reject)
    onStep({ kind: 'done', op, result: undefined })
  } else if (message.error) {
    const error = toError(message.error)
    if (!isSend(op)) onStep({ kind: 'refused', op, error })
    completion.reject(error)
  } else {
    const { result } = message
    if (isSend(op)) onSent(entry, result as Message) // as it was answered
    onStep({ kind: 'done', op, result })
    completion.resolve(result)
  }
  onChanged(entry)
}

function put(op: OutboxOperation, { queued, isSender, onStep, onChanged }: SharedOutbox) {
  const known = queued.get(op.clientId)
  if (known?.isSending) return
  const next = createEntry(op, { wasTried: !isSender || known?.wasTried })
  if (known?.error && !next.error) queued.delete(op.clientId)
  if (known && !known.error && next.error) known.completion.reject(next.error)
  const completion = known && !known.error ? known.completion : next.completion
  const entry = known ? Object.assign(known, { ...next, completion }) : next
  queued.set(op.clientId, entry)
  if (!next.error) onStep({ kind: 'queued', op })
  onChanged(entry)
}
