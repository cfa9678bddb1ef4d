import { createApi } from '@parley/client/api'
import { topics } from '@parley/contract'
import { ADMIN_KEY } from '../support/secrets.ts'

export const MEMBERS = ['ana', 'ben', 'cem', 'dan', 'eva', 'fay']
export const VISITORS = ['gus', 'hal']
const CHANNELS = 3
/**
 * The user of a node's probe, which asks whether the node serves, and sends to a channel of its
 * own.
 */
export const probeOf = (node: number) => `probe-${node}`

type AppOptions = { url: string; nodes: number; webhookUrl: string | false | undefined }

/** Makes an app with users, their tokens, and channels of all of them. */
export async function createAppWith({ url, nodes, webhookUrl }: AppOptions) {
  const { id: appId, apiKey } = await createApi({ url, adminKey: ADMIN_KEY }).apps.create({
    name: 'Faults',
  })
  const backend = createApi({ url, apiKey })
  // Created first, so that it gets every event.
  if (webhookUrl) await backend.webhooks.create({ url: webhookUrl, events: ['*'] })
  const talkers = [...MEMBERS, ...VISITORS]
  const probes = Array.from({ length: nodes }, (_, index) => probeOf(index))
  const users = [...talkers, ...probes]
  const minted = await Promise.all(users.map((userId) => backend.tokens.create({ userId })))
  const tokens = new Map(users.map((userId, index) => [userId, minted[index]]))
  const tokenOf = (userId: string) => tokens.get(userId)?.token ?? ''
  const create = async (name: string, [owner = '', ...memberIds]: string[]) => {
    const api = createApi({ url, token: tokenOf(owner) })
    const { id } = await api.channels.create({ type: 'group', name, memberIds })
    return { id, topic: topics.channel(appId, id) }
  }
  const channels: { id: string; topic: string }[] = []
  for (let index = 0; index < CHANNELS; index++)
    channels.push(await create(`Talk ${index}`, talkers))
  return {
    appId,
    apiKey,
    channels,
    /** One for each node. */
    probeChannels: await Promise.all(probes.map((probe) => create(`Of ${probe}`, [probe]))),
    tokenOf,
    wsTokenOf: (userId: string) => tokens.get(userId)?.wsToken ?? '',
  }
}
