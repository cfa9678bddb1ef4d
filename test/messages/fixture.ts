import type { World } from '../support/world.ts'

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
