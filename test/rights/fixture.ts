import { randomUUID } from 'node:crypto'
import { type Api, isChatError } from '@parley/client'
import { errorStatus, type Operation } from '@parley/contract'
import { insertSystemUser } from '@parley/server/features/system-user'
import { forge } from '../support/forge.ts'
import { insertGivenUpJob } from '../support/given-up-job.ts'
import { insertWorkspace } from '../support/inserted.ts'
import type { CallerCredentials } from '../support/validated.ts'
import { ADMIN_KEY, type World } from '../support/world.ts'
import type { Tenant } from './tenants.ts'

/** A word in everything that belongs to the group, and nowhere else. */
export const SECRET_WORD = 'hush'

let scenes = 0

/** A group of three with a message, and their workspace; outside of both a user of the app. */
export async function createScene(
  world: World,
  tenant: Tenant = world,
  ownerId = `owner-${++scenes}`,
) {
  const [memberId, thirdId, outsiderId] = ['member', 'third', 'outsider'].map(
    (name) => `${name}-${++scenes}`,
  ) as [string, string, string]
  const userIds = [ownerId, memberId, thirdId, outsiderId]
  // Active until after the tests, so that this is not written.
  await world.db`
    insert into users (app_id, id, email, last_active_at)
    select ${tenant.appId}, id, ${`${SECRET_WORD}@example.com`}, now() + interval '1 day'
    from unnest(${userIds}::text[]) id
    on conflict do nothing`
  // Without this user, a refused first system message of the app may leave it behind.
  await insertSystemUser(world.db, tenant.appId)
  const tokenOf = (userId: string, { appId = tenant.appId, admin = false } = {}) =>
    world.sign('api', { appId, userId, generation: 0, isAdmin: admin })
  const owner = world.api({ token: await tokenOf(ownerId) })
  const { id: channelId } = await owner.channels.create({
    type: 'group',
    name: SECRET_WORD,
    description: SECRET_WORD,
    memberIds: [memberId, thirdId],
  })
  const { id: messageId } = await owner.messages.send({
    channelId,
    text: SECRET_WORD,
    attachments: [{ type: SECRET_WORD, url: 'https://example.com' }],
  })
  const workspaceId = await insertWorkspace(
    { db: world.db, appId: tenant.appId },
    { [ownerId]: 'owner', [memberId]: 'member', [thirdId]: 'member' },
  )
  await world.db`
    update workspaces
    set name = ${SECRET_WORD}
    where id = ${workspaceId}`
  const ids = { ownerId, memberId, thirdId, outsiderId, channelId, messageId, workspaceId }
  return { ...ids, world, tenant, owner, tokenOf }
}
export type Scene = Awaited<ReturnType<typeof createScene>>

/**
 * The callers by their credentials, users and keys of both apps. The user of the other app has the
 * id of the member in ours.
 */
export async function callersOf(
  scene: Scene,
  theirs: Tenant,
): Promise<Record<string, CallerCredentials>> {
  const { world, tokenOf, memberId, outsiderId, ownerId } = scene
  await world.db`
    insert into users (app_id, id)
    values (${theirs.appId}, ${memberId})
    on conflict do nothing`
  const [stranger, outsider, member, owner] = await Promise.all([
    tokenOf(memberId, { appId: theirs.appId }),
    tokenOf(outsiderId),
    tokenOf(memberId),
    tokenOf(ownerId),
  ])
  return {
    theirs: { token: stranger },
    outsider: { token: outsider },
    member: { token: member },
    owner: { token: owner },
    theirKey: { apiKey: theirs.apiKey },
    key: { apiKey: world.apiKey },
    theirAs: { apiKey: theirs.apiKey, userId: memberId },
    asMember: { apiKey: world.apiKey, userId: memberId },
    asOwner: { apiKey: world.apiKey, userId: ownerId },
    admin: { adminKey: ADMIN_KEY },
  }
}

/** Invalid credentials that look like the owner's. */
export async function invalidCredentials(scene: Scene): Promise<Record<string, CallerCredentials>> {
  const { world, tokenOf, tenant, ownerId } = scene
  const token = await tokenOf(ownerId)
  const wsToken = await world.sign('ws', {
    appId: tenant.appId,
    userId: ownerId,
    generation: 0,
    isAdmin: false,
  })
  const past = Math.floor(Date.now() / 1000) - 1
  return {
    nothing: {},
    garbage: { token: 'garbage' },
    expired: { token: forge(token, { payload: { exp: past } }) },
    otherAlgorithm: { token: forge(token, { header: { alg: 'HS512' }, hash: 'sha512' }) },
    wsToken: { token: wsToken },
    tokenAsKey: { apiKey: token, adminKey: token },
    keyAsToken: { token: tenant.apiKey },
    userIdAlone: { userId: ownerId },
    userIdWithToken: { token, userId: ownerId },
    userIdWithBadKey: { apiKey: `${tenant.apiKey}x`, userId: ownerId },
  }
}

/** The given field, for operations that require one of several. */
const oneOfMany: Record<string, string> = { 'messages.edit': 'text', 'members.update': 'role' }

/**
 * Valid input for an operation: the fields that it requires, and the one named `also`, with the ids
 * of the scene.
 */
export async function argsFor(
  id: string,
  op: Operation,
  scene: Scene,
  also = 'name',
): Promise<Record<string, unknown>> {
  const { world, channelId, messageId, workspaceId, ownerId, thirdId, outsiderId, tenant, owner } =
    scene
  const { webhooks, hooks } = world.api({ apiKey: tenant.apiKey })
  const url = 'https://example.com'
  if (id.startsWith('hooks.'))
    await hooks.setBeforeSend({ url: `${url}/${SECRET_WORD}`, onError: 'allow' })
  let created: Promise<string> | undefined
  const newWebhook = () =>
    (created ??= webhooks
      .create({ url, events: ['*'], description: SECRET_WORD })
      .then(({ id }) => id))
  const newStream = () => owner.messages.send({ channelId, text: SECRET_WORD, streaming: true })
  const isAboutUsers = id.startsWith('users.') || id.startsWith('tokens.')
  const known: Record<string, () => unknown> = {
    // The deleted app is a spare one: the others are needed.
    appId: async () =>
      id === 'apps.delete'
        ? (await world.operator.apps.create({ name: 'Spare' })).id
        : tenant.appId,
    keyId: async () => (await world.operator.apps.createKey({ appId: tenant.appId })).id,
    jobId: () => insertGivenUpJob(world, tenant.appId),
    userId: () => (isAboutUsers ? ownerId : thirdId),
    userIds: () => (isAboutUsers ? [ownerId] : [outsiderId]),
    memberIds: () => [thirdId],
    users: () => [{ id: ownerId, name: 'New name' }],
    channelId: () => channelId,
    messageId: async () => (id.startsWith('streams.') ? (await newStream()).id : messageId),
    at: () => SECRET_WORD.length,
    messageIds: () => [messageId],
    messages: () => [{ text: 'New', clientId: randomUUID(), parentId: messageId }],
    parentId: () => messageId,
    quotedMessageId: () => messageId,
    before: () => messageId,
    after: () => messageId,
    channels: () => ({ [channelId]: 0 }),
    workspaceId: () => workspaceId,
    deviceId: async () =>
      (await owner.devices.create({ platform: 'ios', provider: 'apns', token: randomUUID() })).id,
    inviteId: async () => (await owner.invites.create({ workspaceId })).id,
    webhookId: newWebhook,
    deliveryId: async () => (await webhooks.test({ webhookId: await newWebhook() })).id,
    url: () => url,
    events: () => ['*'],
    onError: () => 'allow',
    since: () => new Date(Date.now() - 60_000).toISOString(),
    token: async () =>
      id === 'invites.accept' ? (await owner.invites.create({ workspaceId })).token : randomUUID(),
    name: () => 'New',
    text: () => 'New',
    type: () => 'team',
    emoji: () => '👍',
    role: () => 'moderator',
    platform: () => 'ios',
    provider: () => 'apns',
  }
  const required = Object.keys(op.input.shape).filter(
    (field) =>
      field === also ||
      field === oneOfMany[id] ||
      !op.input.shape[field]?.safeParse(undefined).success,
  )
  return Object.fromEntries(
    await Promise.all(required.map(async (field) => [field, await known[field]?.()])),
  )
}

/** `ok` or the code of the refusal, and the whole answer as text. */
export async function outcomeOf(api: Api, id: string, args: object) {
  const [noun = '', name = ''] = id.split('.')
  const call = (api as never as Record<string, Record<string, (args: object) => Promise<unknown>>>)[
    noun
  ]?.[name]
  if (!call) throw new Error(`no operation ${id}`)
  try {
    return { outcome: 'ok', answer: JSON.stringify(await call(args)) }
  } catch (error) {
    if (isChatError(error) && error.code !== 'NETWORK_ERROR')
      return { outcome: error.code, answer: error.message }
    throw error
  }
}

export const statusOf = (outcome: string) =>
  outcome === 'ok' ? 'ok' : String(errorStatus[outcome as keyof typeof errorStatus])
