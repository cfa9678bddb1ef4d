import type { Auth, Operation } from '@parley/contract'
import { insertGivenUpJob } from '../given-up-job.ts'
import { ADMIN_KEY, type World } from '../world.ts'
import { type Pool, pools, poolsOf } from './pools.ts'
import type { Caller } from './wire.ts'

export type Fixture = { ids: Record<Pool, string[]>; credentials: Record<Auth, Caller[]> }

const ALL_POOLS = new Set(Object.keys(pools) as Pool[]) // the keys of a literal

let fixtures = 0
/** A user who owns channels with members that may be removed, and what else is needed. */
async function createFixture(world: World, needed: Set<Pool>): Promise<Fixture> {
  const { user, backend, operator, appId, apiKey } = world
  const turn = ++fixtures
  const times = <T>(pool: Pool, make: (n: number) => Promise<T>) =>
    Promise.all(Array.from({ length: pools[pool] }, (_, n) => make(n)))
  const ifNeeded = async <T>(pool: Pool, make: (n: number) => Promise<T>) =>
    needed.has(pool) ? times(pool, make) : []
  const userId = Array.from({ length: pools.userId }, (_, n) => `guest-${turn}-${n}`)
  await backend.users.sync({ users: userId.map((id) => ({ id })) })
  const [hero, host] = await Promise.all([user(`hero-${turn}`), user(`host-${turn}`)])
  const channels = await times('channelId', (n) =>
    hero.channels.create({
      type: n === 1 ? 'public' : 'group',
      name: `Talk ${turn}-${n}`,
      memberIds: userId,
    }),
  )
  const channelId = channels.map(({ id }) => id)
  const [first = ''] = channelId
  const messages = await times('messageId', (n) =>
    hero.messages.send({ channelId: first, text: `Message ${n}` }),
  )
  const streams = await ifNeeded('streamId', () =>
    hero.messages.send({ channelId: first, text: '', streaming: true }),
  )
  const workspaces = await times('workspaceId', (n) =>
    (n === 0 ? hero : host).workspaces.create({ name: 'Acme', type: 'team' }),
  )
  const [own, other] = workspaces.map(({ id }) => id) as [string, string] // as many as the pool has
  const guest = await user(userId[0] ?? '')
  await guest.invites.accept({ token: (await hero.invites.create({ workspaceId: own })).token })
  const invites = await ifNeeded('invite', () => host.invites.create({ workspaceId: other }))
  const revocable = await ifNeeded('inviteId', () => hero.invites.create({ workspaceId: own }))
  const emptyChannelId = await ifNeeded('emptyChannelId', async () => {
    const { id } = await hero.channels.create({ type: 'group', name: 'Empty' })
    await hero.members.leave({ channelId: id })
    return id
  })
  const emptyWorkspaceId = await ifNeeded('emptyWorkspaceId', async () => {
    const { id } = await hero.workspaces.create({ name: 'Empty', type: 'team' })
    await hero.workspaces.removeMember({ workspaceId: id, userId: hero.id })
    return id
  })
  const devices = await ifNeeded('deviceId', (n) =>
    hero.devices.create({ platform: 'ios', provider: 'apns', token: `push-${turn}-${n}` }),
  )
  const keys = await ifNeeded('keyId', () => operator.apps.createKey({ appId }))
  const spareAppId = await ifNeeded('spareAppId', () => operator.apps.create({ name: 'Spare' }))
  const jobId = await ifNeeded('jobId', () => insertGivenUpJob(world, appId))
  const idOf = ({ id }: { id: string }) => id
  return {
    ids: {
      appId: [appId],
      spareAppId: spareAppId.map(idOf),
      keyId: keys.map(idOf),
      jobId,
      userId,
      channelId,
      messageId: messages.map(idOf),
      streamId: streams.map(idOf),
      workspaceId: [own, other],
      emptyChannelId,
      emptyWorkspaceId,
      deviceId: devices.map(idOf),
      inviteId: revocable.map(idOf),
      invite: invites.map(({ token }) => token),
      webhookId: [],
      deliveryId: [],
      recentTime: [new Date(Date.now() - 60_000).toISOString()],
    },
    credentials: {
      none: [{}],
      admin: [{ adminKey: ADMIN_KEY }],
      key: [{ apiKey }],
      user: [{ token: hero.token }, { apiKey, actingAs: hero.id }],
      userOrKey: [{ token: hero.token }, { apiKey }, { apiKey, actingAs: hero.id }],
    },
  }
}

/**
 * Operations on objects of which an app has only a few, or which affect other operations. They get
 * an app of their own.
 */
const isApart = (id: string) =>
  /^(webhooks|hooks)\.|^inspect\.deliveries$|^apps\.(create|update|delete)Key$/.test(id)
async function createFixtureApart(world: World): Promise<Fixture> {
  const { ids, credentials } = await createFixture(world, new Set())
  const { id: appId, apiKey } = await world.operator.apps.create({ name: 'Apart' })
  const { webhooks, hooks } = world.api({ apiKey })
  await hooks.setBeforeSend({ url: 'https://example.com', onError: 'allow' })
  const webhookId: string[] = []
  const deliveryId: string[] = []
  for (let n = 0; n < pools.webhookId; n++) {
    const { id } = await webhooks.create({ url: 'https://example.com', events: ['*'] })
    webhookId.push(id)
  }
  for (let n = 0; n < pools.deliveryId; n++)
    deliveryId.push((await webhooks.test({ webhookId: webhookId[0] ?? '' })).id)
  const keyId: string[] = []
  for (let n = 0; n < pools.keyId; n++)
    keyId.push((await world.operator.apps.createKey({ appId })).id)
  return {
    ids: { ...ids, appId: [appId], webhookId, deliveryId, keyId },
    credentials: { ...credentials, key: [{ apiKey }] },
  }
}

/** Creates the fixture that an operation needs to succeed. */
export const fixtureFor = (world: World, id: string, op: Operation) =>
  isApart(id) ? createFixtureApart(world) : createFixture(world, poolsOf(id, op))

/**
 * The fixtures of a test file. Operations that leave theirs as it was, like those that only read,
 * share one.
 */
export function createFixtures(
  world: () => World,
  leavesAsItWas: (op: Operation, id: string) => boolean,
) {
  const made = new Map<string, Promise<Fixture>>()
  return (id: string, op: Operation) => {
    const isShared = leavesAsItWas(op, id) && !isApart(id)
    const key = isShared ? 'shared' : id
    const create = () =>
      isShared ? createFixture(world(), ALL_POOLS) : fixtureFor(world(), id, op)
    const fixture = made.get(key) ?? create()
    made.set(key, fixture)
    return fixture
  }
}

/** Replaces the placeholders of an input by the ids of the fixture. */
export const withIds = (args: Record<string, unknown>, { ids }: Fixture): Record<string, unknown> =>
  JSON.parse(
    JSON.stringify(args).replace(
      /§(\w+)\.(\d)/g,
      (_, pool: Pool, index: number) => ids[pool][index] ?? '',
    ),
  )
