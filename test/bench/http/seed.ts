import { createApi } from '@parley/client/api'
import { ADMIN_KEY } from '../server.ts'
import { type Options, progress } from './compare.ts'

/** An app whose users are all members of all channels: its id, the channels, and the tokens. */
export async function seed(url: string, { channels, members }: Options) {
  progress(`${channels} channels of ${members} members`)
  const app = await createApi({ url, adminKey: ADMIN_KEY }).apps.create({ name: 'Bench' })
  const backend = createApi({ url, apiKey: app.apiKey })
  const userIds = Array.from({ length: members }, (_, index) => `user${index}`)
  const minted = await Promise.all(userIds.map((userId) => backend.tokens.create({ userId })))
  const tokens = minted.map(({ token }) => token)
  const ana = createApi({ url, token: tokens[0] ?? '' })
  const channelIds: string[] = []
  for (let index = 0; index < channels; index++) {
    const name = `Channel ${index}`
    const channel = await ana.channels.create({ type: 'group', name, memberIds: userIds.slice(1) })
    channelIds.push(channel.id)
  }
  return { appId: app.id, channelIds, userIds, tokens }
}
