import { type Envelope, topics } from '@parley/contract'
import type { Centrifuge } from 'centrifuge'
import { afterAll, beforeAll, expect } from 'vitest'
import { centrifugeOf, listen, type TopicListener } from '../realtime.ts'
import type { World } from '../world.ts'
import { TWIN_APP_ID } from './index.ts'

/** Namesakes of ana and ben, and a co-member of the first, who has no namesake. */
const ids = ['ana', 'ben', 'ana.peer']

/** Has users of the twin connected during the tests. They stay connected and receive nothing. */
export function useTwinSockets(world: () => World) {
  const clients: Centrifuge[] = []
  const listeners: TopicListener[] = []
  const interruptions: unknown[] = []
  const totals: number[] = []
  beforeAll(async () => {
    await world().db`select twin.listen(${ids})`
    for (const userId of ids) {
      const claims = { appId: TWIN_APP_ID, userId, generation: 0, isAdmin: false }
      const wsToken = await world().sign('ws', claims)
      const client = centrifugeOf(world(), { minted: { wsToken } })
      clients.push(client)
      await client.ready(60_000)
      client.on('state', (change) => interruptions.push(change))
      listeners.push(await listen(client, topics.user(TWIN_APP_ID, userId)))
      const { reads } = world().api({ token: await world().sign('api', claims) })
      totals.push((await reads.unreadCount()).count)
    }
  })
  afterAll(() => {
    const foreign = listeners.flatMap(({ received }, index) =>
      received.map(({ envelope }) => envelope).filter((event) => !isOwnEvent(event, totals[index])),
    )
    expect({ foreign, interruptions }, 'received by another app').toEqual({
      foreign: [],
      interruptions: [],
    })
    for (const client of clients) client.disconnect()
  })
}

/** A node that has missed notes sends its users their totals once more. */
const isOwnEvent = ({ type, payload }: Envelope, total: number | undefined) =>
  (type === 'presence.online' && payload.userId === 'ana.peer') ||
  (type === 'channel.total_unread_changed' && payload.count === total)
