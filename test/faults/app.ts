import { createApi } from '@parley/client/api'
import { topics } from '@parley/contract'
import { ADMIN_KEY } from '../support/secrets.ts'

export const MEMBERS = ['ana', 'ben', 'cem', 'dan', 'eva', 'fay']
export const VISITORS = ['gus', 'hal']
const CHANNELS = 3

/** Makes an app with users, their tokens, and channels of all of them. */
export async function createAppWith(url: string, webhookUrl: string | false | undefined) {
  const { id: appId, apiKey } = await createApi({ url, adminKey: ADMIN_KEY }).apps.create({
    name: 'Faults',
  })
  const backend = createApi({ url, apiKey })
  // It is sent everything from the first event on.
  if (webhookUrl) await backend.webhooks.create({ url: webhookUrl, events: ['*'] })
  const users = [...MEMBERS, ...VISITORS]
  const minted = await Promise.all(users.map((userId) => backend.tokens.create({ userId })))
  const tokens = new Map(users.map((userId, index) => [userId, minted[index]]))
  const owner = createApi({ url, token: minted[0]?.token ?? '' })
  const channels: { id: string; topic: string }[] = []
  for (let index = 0; index < CHANNELS; index++) {
    const given = { type: 'group', name: `Talk ${index}`, memberIds: users.slice(1) } as const
    const { id } = await owner.channels.create(given)
    channels.push({ id, topic: topics.channel(appId, id) })
  }
  return {
    appId,
    apiKey,
    channels,
    tokenOf: (userId: string) => tokens.get(userId)?.token ?? '',
    wsTokenOf: (userId: string) => tokens.get(userId)?.wsToken ?? '',
  }
}
