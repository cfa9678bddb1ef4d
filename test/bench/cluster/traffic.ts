import { randomUUID } from 'node:crypto'
import { createApi } from '@parley/client/api'
import type { Sender } from '../connect/seed.ts'
import { pause } from '../server.ts'

const AT_ONCE = 32
const RETRY_MS = 50
const MAX_ATTEMPTS = 600
const TEXT = 'The soup is ready, who is hungry? There is bread with it, and cheese.'

/**
 * Sends messages to all channels and nodes in turn, at a steady rate, or as fast as they are
 * answered. A message that a node did not acknowledge is sent to the next one, with the same
 * `clientId`, until one has.
 */
export function startTraffic(given: { urls: string[]; senders: Sender[]; perSecond: number }) {
  const { urls, senders, perSecond } = given
  const name = randomUUID()
  const apis = new Map<string, ReturnType<typeof createApi>>()
  const apiOf = (url: string, token: string) => {
    const key = `${url} ${token}`
    const api = apis.get(key) ?? createApi({ url, token })
    apis.set(key, api)
    return api
  }
  const startedAt = performance.now()
  const sent = { messages: 0, deliveries: 0, repeated: 0 }
  let next = 0
  let isStopped = false

  const send = async (number: number) => {
    const { channelId, token, subscribers } = senders[number % senders.length] ?? never()
    for (let attempt = 0; ; attempt++) {
      const url = urls[(number + attempt) % urls.length] ?? never()
      const message = { channelId, text: TEXT, clientId: `${name}-${number}` }
      try {
        await apiOf(url, token).messages.send(message)
        sent.messages += 1
        sent.deliveries += subscribers
        return
      } catch (error) {
        if (attempt === MAX_ATTEMPTS) throw error
        sent.repeated += 1
        await pause(RETRY_MS)
      }
    }
  }
  const work = async () => {
    while (!isStopped) {
      const number = next++
      const dueMs = (number * 1_000) / perSecond
      await pause(Math.max(0, startedAt + dueMs - performance.now()))
      if (!isStopped) await send(number)
    }
  }
  const works = Promise.all(Array.from({ length: AT_ONCE }, work))
  return {
    /** Resolves with the acknowledged messages, after the answer to the last one. */
    stop: async () => {
      isStopped = true
      await works
      return sent
    },
  }
}

const never = (): never => {
  throw new Error('nothing to send to')
}
