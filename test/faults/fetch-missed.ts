import { createApi } from '@parley/client/api'
import { recordingFetch, untilKnown } from './calls.ts'
import type { ReceivedEvent, Subscription } from './history.ts'
import type { Random } from './random.ts'
import { addFound, ephemeral } from './received.ts'
import type { Rig } from './rig.ts'

/**
 * Fetches the unread counts and the presence that a client may have missed while disconnected, as
 * the documentation asks after a reconnect. The fetched state counts as received. It gives up at
 * `signal`, when the client has reconnected once more.
 */
export async function fetchMissed(
  rig: Rig,
  { record, random, signal }: { record: Subscription; random: Random; signal: AbortSignal },
) {
  const { received } = record
  const api = createApi({
    url: 'http://any-node',
    token: rig.tokenOf(record.userId),
    fetch: recordingFetch(rig, { random }),
  })
  const fetchOne = async (name: string, call: () => Promise<ReceivedEvent[]>) => {
    let found: ReceivedEvent[] = []
    let place = received.length
    const isKnown = await untilKnown(rig, {
      name,
      call: async () => {
        if (signal.aborted) return
        place = received.length
        found = await call()
      },
    })
    if (isKnown && !signal.aborted) addFound(record, place, found)
  }
  await Promise.all([
    fetchOne('list channels', async () => {
      const { channels } = await api.channels.list({})
      return channels.map(({ id: channelId, unreadCount: count }) =>
        ephemeral('channel.unread_changed', { channelId, count }),
      )
    }),
    fetchOne('count unread', async () => {
      const { count } = await api.reads.unreadCount()
      return [ephemeral('channel.total_unread_changed', { count })]
    }),
    ...rig.history.visitors.map(({ userId }) =>
      fetchOne('get presence', async () => {
        const { online } = await api.users.get({ userId })
        return [ephemeral(online ? 'presence.online' : 'presence.offline', { userId })]
      }),
    ),
  ])
}
