import type { Api } from '@parley/client'
import type { User, World } from '../support/world.ts'

/** An app with two users, who share a group. */
export type Tenant = { appId: string; backend: Api; ana: User; ben: User; channelId: string }

let pairs = 0

/** Two apps with users of the same ids, whom no other test knows. */
export async function createTenants(world: World): Promise<[Tenant, Tenant]> {
  const number = ++pairs
  const { id, apiKey } = await world.operator.apps.create({ name: 'Other' })
  const theirs = { appId: id, backend: world.api({ apiKey }) }
  return Promise.all([populate(world, world, number), populate(world, theirs, number)])
}

async function populate(
  world: World,
  { appId, backend }: Pick<Tenant, 'appId' | 'backend'>,
  number: number,
): Promise<Tenant> {
  const [ana, ben] = await Promise.all([
    world.user(`ana${number}`, { name: `Ana of ${appId}` }, backend),
    world.user(`ben${number}`, { name: `Ben of ${appId}` }, backend),
  ])
  const channel = await ana.channels.create({ type: 'group', name: 'Talk', memberIds: [ben.id] })
  return { appId, backend, ana, ben, channelId: channel.id }
}
