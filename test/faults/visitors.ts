import { setTimeout as delay } from 'node:timers/promises'
import { clientOf } from './client.ts'
import type { Rig } from './rig.ts'

/** Lets the visitors come and go until `signal`. */
export function startVisitors(rig: Rig, signal: AbortSignal) {
  const guests = rig.history.visitors.map((visitor) => ({
    visitor,
    client: clientOf(rig, visitor.userId),
    random: rig.random.fork(),
  }))
  const visit = async ({ visitor, client, random }: (typeof guests)[number]) => {
    while (!signal.aborted) {
      visitor.isConnected = !visitor.isConnected
      if (visitor.isConnected) client.connect()
      else client.disconnect()
      await delay(random.between(300, 4_000), undefined, { signal }).catch(() => {})
    }
  }
  return {
    ended: Promise.all(guests.map(visit)),
    stop: () => {
      for (const { client } of guests) client.disconnect()
    },
  }
}
