import type { OutboxStorage, Outgoing } from '@parley/client'
import type { WireRecorder } from './wire-log.ts'

/** A storage that records what enters and leaves the outbox. */
export function recordOutbox(storage: OutboxStorage, recorder: WireRecorder): OutboxStorage {
  const stored = new Map<string, Outgoing>()
  const add = (name: string, message: Outgoing) =>
    void recorder.add({ kind: 'outbox', name, detail: message.text, payload: message })
  return {
    load: async (owner) => {
      const messages = await storage.load(owner)
      for (const message of messages) {
        stored.set(message.clientId, message)
        add('loaded', message)
      }
      return messages
    },
    put: async (owner, message) => {
      add(message.failure ? 'refused' : 'queued', message)
      stored.set(message.clientId, message)
      await storage.put(owner, message)
    },
    delete: async (owner, clientId) => {
      const message = stored.get(clientId)
      stored.delete(clientId)
      if (message) add('removed', message)
      await storage.delete(owner, clientId)
    },
  }
}
