import { topics } from '@parley/contract'
import type { Centrifuge } from 'centrifuge'
import { afterAll, beforeAll, expect } from 'vitest'
import { centrifugeOf, listen, type TopicListener } from '../realtime.ts'
import type { World } from '../world.ts'
import { TWIN_APP_ID } from './index.ts'

/** Namesakes of ana and ben, and a co-member of the first, who has no namesake. */
const ids = ['ana', 'ben', 'ana.peer']

/** Has users of the twin connected during the tests. They stay connected and hear nothing. */
export function useTwinSockets(world: () => World) {
  const clients: Centrifuge[] = []
  const listeners: TopicListener[] = []
  const interruptions: unknown[] = []
  beforeAll(async () => {
    await world().db`select twin.listen(${ids})`
    for (const userId of ids) {
      const claims = { appId: TWIN_APP_ID, userId, generation: 0, admin: false }
      const wsToken = await world().sign('ws', claims)
      const client = centrifugeOf(world(), { minted: { wsToken } })
      clients.push(client)
      await client.ready(60_000)
      client.on('state', (change) => interruptions.push(change))
      listeners.push(await listen(client, topics.user(TWIN_APP_ID, userId)))
    }
  })
  afterAll(() => {
    const heard = listeners
      .flatMap(({ received }) => received.map(({ envelope }) => envelope))
      .filter(({ type, payload }) => !(type === 'presence.online' && payload.userId === 'ana.peer'))
    expect({ heard, interruptions }, 'heard by another app').toEqual({
      heard: [],
      interruptions: [],
    })
    for (const client of clients) client.disconnect()
  })
}
