import type { OutboxOperation, OutboxStorage } from '@parley/client'
import type { WireRecorder } from './wire-log.ts'

/** A storage that records what enters and leaves the outbox. */
export function recordOutbox(storage: OutboxStorage, recorder: WireRecorder): OutboxStorage {
  const stored = new Map<string, OutboxOperation>()
  const add = (name: string, message: OutboxOperation) =>
    void recorder.add({ kind: 'outbox', name, detail: describe(message), payload: message })
  return {
    ...storage,
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

/** An operation of the outbox in a few words. */
export function describe(operation: OutboxOperation) {
  if (operation.type === 'react' || operation.type === 'unreact')
    return `${operation.type} ${operation.emoji}`
  return ('text' in operation && operation.text) || operation.type || 'send'
}
