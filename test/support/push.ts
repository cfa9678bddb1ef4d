import { randomUUID } from 'node:crypto'
import { beforeEach } from 'vitest'
import { idle } from './idle.ts'
import { type User, useWorldWithProvider } from './world.ts'

type PushChannel = { ana: User; ben: User; cleo: User; channelId: string }

/**
 * A world with a push provider. Each test has its own users, who have just been added to a channel.
 */
export function usePushChannel() {
  const { world, provider } = useWorldWithProvider()
  let channel: PushChannel | undefined
  const current = () => {
    if (!channel) throw new Error('the channel exists only while tests run')
    return channel
  }
  /** Waits until all pushes have been sent, and forgets them. */
  const settle = async () => {
    await idle(world())
    provider().forget()
  }
  beforeEach(async () => {
    const id = randomUUID().slice(0, 8)
    const [ana, ben, cleo] = await Promise.all([
      world().user(`ana-${id}`, { name: `Ana ${id}`, image: 'https://example.com/ana.png' }),
      world().user(`ben-${id}`),
      world().user(`cleo-${id}`, { name: `Cleo of ${id}` }),
    ])
    const { id: channelId } = await ana.channels.create({
      type: 'group',
      name: 'Kitchen',
      description: 'Soup',
      memberIds: [ben.id, cleo.id],
    })
    channel = { ana, ben, cleo, channelId }
    provider().behave()
    await settle()
  })
  return {
    world,
    provider,
    current,
    settle,
    /** Sends a message as ana. */
    send: (text: string, more: { parentId?: string } = {}) => {
      const { ana, channelId } = current()
      return ana.messages.send({ channelId, text, ...more })
    },
    /** The pushes to a user. */
    pushesTo: (userId: string) =>
      provider()
        .triggered()
        .filter(({ to }) => to === userId),
  }
}
