import { createApi } from '@parley/client/api'
import { vi } from 'vitest'
import { patient } from './until.ts'

type Api = ReturnType<typeof createApi>
type ExpectedMessage = { userId: string; text: string | null }
type TrafficOptions = {
  /** The addresses of the servers, one after the other for each call; more may be added. */
  urls: string[]
  users: { id: string; token: string }[]
  channelId: string
  /** A message that all of them react to. */
  reactedTo: string
}

/** Users who send, edit, delete, react and read, each one thing after the other, until stopped. */
export function startTraffic({ urls, users, channelId, reactedTo }: TrafficOptions) {
  /** The expected messages at the end, by their ids; deleted ones are null. */
  const sent = new Map<string, ExpectedMessage>()
  const reacting = new Set<string>()
  const failures: string[] = []
  const rounds = new Map<string, number>()
  let [isOver, calls] = [false, 0]

  async function act({ id: userId, token }: TrafficOptions['users'][number]) {
    /** Each call goes to the next server; a refusal of any is noted. */
    const call = async <Result>(name: string, work: (api: Api) => Promise<Result>) => {
      const url = urls[calls++ % urls.length] ?? ''
      return work(createApi({ url, token })).catch((error) => {
        failures.push(`${name} by ${userId}: ${error}`)
        return undefined
      })
    }
    for (let round = 0; !isOver; round += 1) {
      rounds.set(userId, round)
      const text = `${userId} ${round}`
      const message = await call('send', (api) => api.messages.send({ channelId, text }))
      if (!message) continue
      const ref = { channelId, messageId: message.id }
      sent.set(message.id, { userId, text })
      if (round % 3 === 0) {
        await call('edit', (api) => api.messages.edit({ ...ref, text: `${text}, edited` }))
        sent.set(message.id, { userId, text: `${text}, edited` })
      }
      if (round % 5 === 0) {
        await call('delete', (api) => api.messages.delete(ref))
        sent.set(message.id, { userId, text: null })
      }
      const reaction = { channelId, messageId: reactedTo, emoji: '👍' }
      if (reacting.has(userId)) await call('unreact', (api) => api.reactions.remove(reaction))
      else await call('react', (api) => api.reactions.add(reaction))
      if (!reacting.delete(userId)) reacting.add(userId)
      await call('read', (api) => api.reads.mark(ref))
      await call('list', (api) => api.channels.list({}))
    }
  }
  const acting = users.map(act)

  return {
    sent,
    reacting,
    failures,
    /** Resolves once each user has completed this many more rounds. */
    rounds: async (count: number) => {
      const goals = users.map(({ id }) => ({ id, round: (rounds.get(id) ?? 0) + count + 1 }))
      const isReached = () => goals.every(({ id, round }) => (rounds.get(id) ?? 0) >= round)
      await vi.waitUntil(isReached, patient)
    },
    stop: async () => {
      isOver = true
      await Promise.all(acting)
    },
  }
}
