import { topics } from '@parley/contract'
import { RawSocket } from '../socket.ts'
import type { Big, Operations } from './operation.ts'

/**
 * The commands of a socket that are carried out, on the topic of a channel of very many members and
 * events. Presence is refused.
 */
export async function ofSockets({ world, users: [user], large, next }: Big): Promise<Operations> {
  const channel = topics.channel(world.appId, large)
  const socket = await RawSocket.connect(world, user)
  const ask = async (...commands: Record<string, object>[]) => {
    const numbered = commands.map((command) => ({ id: next() + 2, ...command }))
    socket.send(...numbered)
    const last = numbered.at(-1)?.id
    const answer = await socket.until(({ id }) => id === last)
    // Looking for an answer among all of before would take longer and longer.
    socket.messages.length = 0
    if (answer.error) throw new Error(JSON.stringify(answer))
    return answer
  }
  const position = async () => (await ask({ history: { channel } })).history
  return {
    'socket, connect': {
      returned: 1,
      run: async () => {
        const other = await RawSocket.connect(world, user)
        other.terminate()
        await other.closed
      },
    },
    'socket, subscribe': {
      returned: 1,
      run: () => ask({ subscribe: { channel } }, { unsubscribe: { channel } }),
    },
    'socket, subscribe with recovery': {
      returned: 100,
      run: async () => {
        const { epoch, offset } = await position()
        const since = { recover: true, epoch, offset: offset - 100 }
        await ask({ subscribe: { channel, ...since } }, { unsubscribe: { channel } })
      },
    },
    'socket, history': {
      returned: 100,
      run: () => ask({ history: { channel, limit: 100, reverse: true } }),
    },
  }
}
