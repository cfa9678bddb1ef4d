import { type RawSocket, useSockets } from '../../support/socket.ts'
import { connectRaw } from '../../support/stream.ts'
import type { World } from '../../support/world.ts'
import { useSocketUsers } from '../sockets.ts'

/** Ana and ben, and channels to recover. */
export function useRecovery(world: () => World) {
  const { ana, ben, connected, channelTopic } = useSocketUsers(world)
  const terminatedLater = useSockets()
  /** Makes a channel with five events: two members, three messages. */
  const createLively = async () => {
    const { id } = await ana().channels.create({
      type: 'group',
      name: 'Talk',
      memberIds: ['ben'],
    })
    for (const text of ['a', 'b', 'c']) await ana().messages.send({ channelId: id, text })
    return { id, topic: channelTopic(id) }
  }
  return {
    createLively,
    /** Makes a channel with this many events. Returns its topic. */
    createLong: async (rev: number) => {
      const { topic, id } = await createLively()
      await world().db`
        insert into events (topic, "offset", type, envelope)
        select ${topic}, n, 'typing.stop', '{"type":"typing.stop","payload":{}}'
        from generate_series(6, ${rev}::int) n`
      await world().db`update channels set rev = ${rev} where id = ${id}`
      return topic
    },
    /** Whether a subscribe has recovered, how many events, and its offset. */
    outcomeOf: ({ subscribe }: Awaited<ReturnType<RawSocket['reply']>>) => [
      subscribe.recovered ?? false,
      subscribe.publications?.length ?? 0,
      subscribe.offset ?? 0,
    ],
    ana,
    ben,
    connected: (user = ben(), node = world()) => terminatedLater(connectRaw(node, user)),
    /** Over a WebSocket, whatever is under test. */
    connectedBySocket: () => connected(ben()),
    currentEpoch: async () => {
      const [row] = await world().db<{ value: string }[]>`
        select value
        from service
        where key = 'epoch'`
      return row?.value ?? ''
    },
  }
}
