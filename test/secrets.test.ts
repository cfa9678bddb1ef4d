import { tmpdir } from 'node:os'
import { createApi, isChatError } from '@parley/client/api'
import { expect, test } from 'vitest'
import { dump } from './support/dump.ts'
import { forge } from './support/forge.ts'
import { post } from './support/raw.ts'
import { production, useChildren } from './support/start.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const { start } = useChildren()

/** Content of users, which may be in the database but not in logs. */
const content = [
  'hush-text',
  'hush-edit',
  'hush-name',
  'hush-topic',
  'hush@example.com',
  'hush-custom',
  'hush-push',
  'hush-emoji',
  'hush-client',
  'hush-query',
  'hush-path',
  'hush-body',
]

/** Makes every kind of call, successful and refused; answers the secrets that were handed out. */
async function useEverything(url: string) {
  const secrets: string[] = [production.JWT_SECRET, production.ADMIN_API_KEY]
  const secret = <T extends string>(value: T) => {
    secrets.push(value)
    return value
  }
  const refused = async (call: Promise<unknown>, status: number) =>
    expect(await call.catch((error) => isChatError(error) && error.status)).toBe(status)
  const operator = createApi({ url, adminKey: production.ADMIN_API_KEY })
  const { id: appId, apiKey } = await operator.apps.create({ name: 'hush-name' })
  const spare = await operator.apps.createKey({ appId })
  await createApi({ url, apiKey: secret(spare.apiKey) }).users.list()
  await operator.apps.deleteKey({ appId, keyId: spare.id })
  await refused(createApi({ url, apiKey: spare.apiKey }).users.list(), 401)

  const backend = createApi({ url, apiKey: secret(apiKey) })
  const user = async (userId: string) => {
    const { token, wsToken } = await backend.tokens.create({
      userId,
      name: 'hush-name',
      email: 'hush@example.com',
      custom: { plan: 'hush-custom' },
    })
    return { token: secret(token), api: createApi({ url, token }), wsToken: secret(wsToken) }
  }
  const [ana, ben, cem] = [await user('ana'), await user('ben'), await user('cem')]
  await backend.users.sync({
    users: [{ id: 'dora', email: 'hush@example.com' }, { id: 'hush path' }],
  })

  const { id: channelId } = await ana.api.channels.create({
    type: 'group',
    name: 'hush-name',
    description: 'hush-topic',
    memberIds: ['ben', 'cem'],
  })
  const { id: messageId } = await ana.api.messages.send({
    channelId,
    text: 'hush-text',
    clientId: 'hush-client',
  })
  await ben.api.messages.send({ channelId, text: 'hush-text', parentId: messageId })
  await ana.api.messages.edit({ channelId, messageId, text: 'hush-edit' })
  await ben.api.reactions.add({ channelId, messageId, emoji: 'hush-emoji' })
  await ben.api.pins.pin({ channelId, messageId })
  await ben.api.reads.mark({ channelId })
  await ana.api.devices.create({ platform: 'ios', provider: 'apns', token: 'hush-push' })
  await refused(ben.api.messages.delete({ channelId, messageId }), 403)

  const { id: workspaceId } = await ana.api.workspaces.create({ name: 'hush-name', type: 'team' })
  const once = await ana.api.invites.create({ workspaceId, maxUses: 1 })
  await ben.api.invites.accept({ token: secret(once.token) })
  await refused(cem.api.invites.accept({ token: once.token }), 403)
  const open = await ana.api.invites.create({ workspaceId })
  await withoutTable('workspace_invites', async () => {
    await refused(cem.api.invites.accept({ token: secret(open.token) }), 500)
    await ask(
      url,
      {
        method: 'POST',
        path: '/trpc/invites.accept',
        body: JSON.stringify({ token: open.token }),
        headers: bearer(cem.token),
      },
      500,
    )
  })
  await withoutTable('api_keys', async () => {
    await refused(
      createApi({ url, apiKey: secret(`pk_${'nobody-x'.repeat(4)}`) }).users.list(),
      500,
    )
  })
  await withoutTable('messages', async () =>
    refused(ana.api.messages.send({ channelId, text: 'hush-text' }), 500),
  )

  const everything = {
    ...bearer(ana.token),
    'X-API-Key': apiKey,
    'X-Admin-Key': production.ADMIN_API_KEY,
  }
  await ask(
    url,
    {
      method: 'GET',
      path: `/api/invites/${open.token}/hush-path?q=hush-query`,
      headers: everything,
    },
    404,
  )
  await ask(
    url,
    {
      method: 'POST',
      path: `/api/invites/${open.token}%/accept?token=${ana.token}`,
      headers: everything,
    },
    400,
  )
  await ask(
    url,
    { method: 'POST', path: '/tokens', body: '{"hush-body":', headers: everything },
    400,
  )
  await ask(
    url,
    {
      method: 'GET',
      path: '/api/users',
      headers: bearer(secret(forge(ana.token, { secret: 'another secret, of 32 bytes or more' }))),
    },
    401,
  )
  await ask(url, { method: 'GET', path: '/api/users', headers: bearer(ana.wsToken) }, 401)
  await backend.tokens.revoke({ userId: 'cem' })
  await refused(cem.api.channels.list(), 401)
  await ben.api.users.delete({ userId: 'ben' })
  return secrets
}

const bearer = (token: string) => ({
  Authorization: `Bearer ${token}`,
  'Content-Type': 'application/json',
})

async function ask(
  url: string,
  { path, ...request }: Parameters<typeof post>[2] & { path: string },
  status: number,
) {
  expect((await post(url, path, request)).status).toBe(status)
}

/** Runs calls that fail in the middle, because a table is missing. */
async function withoutTable(table: string, work: () => Promise<void>) {
  await world().db.unsafe(`alter table ${table} rename to renamed`)
  await work()
  await world().db.unsafe(`alter table renamed rename to ${table}`)
}

test('credentials appear neither in the database nor in logs', async () => {
  const node = start(
    {
      ...production,
      DATABASE_URL: world().databaseUrl,
      LOG_LEVEL: 'trace',
      RATE_LIMIT_TOKENS: '0',
      PUBLIC_URL: 'https://chat.example.com',
    },
    tmpdir(),
  )
  const url = await node.address()
  const secrets = await useEverything(url)
  node.kill('SIGTERM')
  expect(await node.code).toBe(0)

  const database = (await dump(world())).join('\n')
  for (const word of ['hush-edit', 'hush-push', 'hush-custom']) expect(database).toContain(word)
  // The signature of a token, its last part, must not appear either.
  const parts = secrets.flatMap((secret) => [secret, secret.split('.').at(-1) ?? secret])
  expect(parts.length).toBeGreaterThan(20)
  expect(parts.filter((part) => database.includes(part))).toEqual([])

  const log = node.output()
  for (const line of ['"msg":"request failed"', '"operation":"invites.accept"', '"status":403'])
    expect(log).toContain(line)
  expect([...parts, ...content].filter((part) => log.includes(part))).toEqual([])
})
