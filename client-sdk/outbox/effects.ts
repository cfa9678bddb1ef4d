import type { ReadAnswer } from '../channels/versions.ts'
import type { Emitter } from '../realtime/events.ts'
import type { LiveRoom } from '../room/index.ts'
import type { OutboxStep } from './steps.ts'

type ShownRecord = {
  rooms: ReadonlyMap<string, LiveRoom>
  records: {
    startReading: (channelId: string, seq?: number) => boolean
    endReading: (channelId: string) => void
    takeReadAnswer: (channelId: string, answer: Partial<ReadAnswer>) => void
  }
  emitter: Emitter
}

/** Shows what becomes of the operations of the outbox: in rooms, in unread counts, as events. */
export function createStepHandler({ rooms, records, emitter }: ShownRecord) {
  const reading = new Set<string>()
  return (step: OutboxStep) => {
    const { kind, op } = step
    const { channelId, clientId } = op
    if (kind === 'refused') {
      const { failure: _, ...refused } = op
      emitter.emit({ type: 'outbox.refused', channelId, operation: refused, error: step.error })
    }
    if (op.type !== 'read') return rooms.get(channelId)?.handleStep(step)
    if (kind === 'queued' && !reading.has(clientId)) {
      if (records.startReading(channelId, op.seq)) reading.add(clientId)
    }
    if (kind === 'done') records.takeReadAnswer(channelId, step.result ?? {}) // as it was answered
    if ((kind === 'done' || kind === 'refused') && reading.delete(clientId))
      records.endReading(channelId)
  }
}
