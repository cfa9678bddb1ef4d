import { topics } from '@parley/contract'
import { beforeAll, onTestFinished } from 'vitest'
import { RawSocket, useSockets } from '../support/socket.ts'
import { useTwinSockets } from '../support/twin/sockets.ts'
import { createWorld, type User, type World } from '../support/world.ts'

type Node = Pick<World, 'url'>
type Timings = NonNullable<Parameters<typeof createWorld>[0]>['timings']

/** Ana and ben, and bare sockets of theirs, which are terminated after each test. */
export function useSocketUsers(world: () => World) {
  useTwinSockets(world)
  let users: [User, User]
  beforeAll(async () => {
    users = await world().users('ana', 'ben')
  })
  const terminatedLater = useSockets()
  const ana = () => users[0]
  return {
    ana,
    ben: () => users[1],
    /** A socket that has not connected yet. */
    opened: (options?: Parameters<typeof RawSocket.open>[1], node: Node = world()) =>
      terminatedLater(RawSocket.open(node, options)),
    connected: (user = ana(), node: Node = world()) =>
      terminatedLater(RawSocket.connect(node, user)),
    /** Another node, on which one time limit is short. The others leave a busy machine its time. */
    hurriedNode: async (timings: Timings) => {
      const node = await createWorld({ databaseUrl: world().databaseUrl, timings })
      onTestFinished(node.stop)
      return node
    },
    createGroup: async (...memberIds: string[]) =>
      (await ana().channels.create({ type: 'group', name: 'Talk', memberIds })).id,
    channelTopic: (channelId: string) => topics.channel(world().appId, channelId),
    userTopic: (user: User) => topics.user(world().appId, user.id),
  }
}
