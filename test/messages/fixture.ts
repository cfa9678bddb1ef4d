import { topics } from '@parley/contract'
import { onTestFinished } from 'vitest'
import { centrifugeOf, listen } from '../support/realtime.ts'
import type { User, World } from '../support/world.ts'

/** Makes a channel of ana's with ben as a member; cem is outside. */
export const talkIn =
  (world: () => World) =>
  async (type: 'group' | 'public' | 'livestream' | 'private' = 'group') => {
    const ana = await world().user('ana', { name: 'Ana', image: 'https://example.com/ana.png' })
    const [ben, cem] = await world().users('ben', 'cem')
    const { id: channelId } = await ana.channels.create({ type, name: 'Talk', memberIds: ['ben'] })
    const say = (
      text: string,
      more: { parentId?: string; quotedMessageId?: string; clientId?: string } = {},
    ) => ana.messages.send({ channelId, text, ...more })
    return { ana, ben, cem, channelId, say }
  }

/** A client that receives the events of a channel, and may be away when a message is deleted. */
export async function eventsOf(world: World, user: User, channelId: string) {
  const open = (options = {}) => {
    const client = centrifugeOf(world, user)
    onTestFinished(() => client.disconnect())
    return listen(client, topics.channel(world.appId, channelId), options)
  }
  const listener = await open()
  const missed = async (count: number) => {
    const deleted = (await listener.untilType('message.deleted')).at(-1)
    const { epoch = '' } = await listener.subscription.history({ limit: 0 })
    const again = await open({ since: { offset: (deleted?.offset ?? 0) - count, epoch } })
    await again.untilType('message.deleted')
    return again
  }
  return { missed }
}
