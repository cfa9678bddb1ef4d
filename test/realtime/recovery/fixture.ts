import { useSockets } from '../../support/socket.ts'
import { connectRaw } from '../../support/stream.ts'
import type { World } from '../../support/world.ts'
import { useSocketUsers } from '../sockets.ts'

/** Ana and ben, and channels to recover. */
export function useRecovery(world: () => World) {
  const { ana, ben, connected, channelTopic } = useSocketUsers(world)
  const terminatedLater = useSockets()
  return {
    ana,
    ben,
    connected: (user = ben(), node = world()) => terminatedLater(connectRaw(node, user)),
    /** Over a WebSocket, whatever is under test. */
    connectedBySocket: () => connected(ben()),
    /** Makes a channel with five events: two members, three messages. */
    createLively: async () => {
      const { id } = await ana().channels.create({
        type: 'group',
        name: 'Talk',
        memberIds: ['ben'],
      })
      for (const text of ['a', 'b', 'c']) await ana().messages.send({ channelId: id, text })
      return { id, topic: channelTopic(id) }
    },
    currentEpoch: async () => {
      const [row] = await world().db<{ value: string }[]>`
        select value
        from service
        where key = 'epoch'`
      return row?.value ?? ''
    },
  }
}
