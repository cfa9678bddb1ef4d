import { setTimeout as delay } from 'node:timers/promises'
import { createApi } from '@parley/client/api'
import { recordingFetch, untilKnown } from './calls.ts'
import { typingEnded } from './checks/typing.ts'
import type { Random } from './random.ts'
import type { Rig } from './rig.ts'

const EVERY_MS = 500
const GIVEN_UP_MS = 60_000

/** Lets some members type now and then until `signal`. A member who stops does not say so. */
export const startTypists = (rig: Rig, signal: AbortSignal) =>
  Promise.all(
    rig.history.members.slice(0, 3).map(async (userId) => {
      const random = rig.random.fork()
      const type = typistOf(rig, { userId, random })
      while (!signal.aborted) {
        await type(random.pick(rig.channels).id)
        await delay(random.between(EVERY_MS, 10 * EVERY_MS), undefined, { signal }).catch(() => {})
      }
    }),
  )

/**
 * Types until all who are subscribed see it, at whichever node they are, and keeps how long that
 * took, and how long until no one was seen to type any more.
 */
export async function measureTyping(rig: Rig) {
  const { history, now } = rig
  const began = now()
  const [channel] = rig.channels
  const [typist] = history.members
  if (!channel || !typist) return
  const others = history.subscriptions.filter(
    ({ topic, userId }) => topic === channel.topic && userId !== typist,
  )
  const places = others.map(({ received }) => received.length)
  const haveSeen = () =>
    others.every(({ received }, index) =>
      received
        .slice(places[index])
        .some(({ type, userId }) => type === 'typing.start' && userId === typist),
    )
  const type = typistOf(rig, { userId: typist, random: rig.random.fork() })
  while (!haveSeen() && now() - began < GIVEN_UP_MS) {
    await type(channel.id)
    await delay(EVERY_MS)
  }
  history.convergenceMs.push(now() - began)
  const endedTyping = now()
  while (typingEnded(history).length > 0 && now() - endedTyping < GIVEN_UP_MS) await delay(EVERY_MS)
  history.convergenceMs.push(now() - endedTyping)
}

function typistOf(rig: Rig, { userId, random }: { userId: string; random: Random }) {
  const fetch = recordingFetch(rig, { random, userId })
  const api = createApi({ url: 'http://any-node', token: rig.tokenOf(userId), fetch })
  return (channelId: string) =>
    untilKnown(rig, { name: 'type', call: () => api.typing.set({ channelId }) })
}
