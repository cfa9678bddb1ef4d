import { randomUUID } from 'node:crypto'
import { type Api, type Credentials, isChatError } from '@parley/client'
import { type Auth, errorStatus, type Operation, pathParameters } from '@parley/contract'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { dump } from './support/dump.ts'
import { forge } from './support/forge.ts'
import { insertWorkspace } from './support/inserted.ts'
import { operations } from './support/validated.ts'
import { ADMIN_KEY, useWorld } from './support/world.ts'

/**
 * Who may call what, of a group of an app and what belongs to it, and of its workspace. `ok`: carried out; nothing of
 * the group is told to somebody outside, unless it `admits` him. Numbers: refused so, telling nothing and changing nothing.
 */
const matrix = rows(`
                          stranger outsider member owner  otherBackend backend  operator
  service.health          ok       ok       ok     ok     ok           ok       ok
  service.live            ok       ok       ok     ok     ok           ok       ok
  apps.list               401      401      401    401    401          401      ok
  apps.create             401      401      401    401    401          401      ok
  apps.createKey          401      401      401    401    401          401      ok
  apps.deleteKey          401      401      401    401    401          401      ok
  tokens.create           401      401      401    401    ok           ok       401
  tokens.revoke           401      401      401    401    404          ok       401
  users.list              ok       ok       ok     ok     ok           ok       401
  users.get               404      ok       ok     ok     404          ok       401
  users.sync              403      403      403    ok     ok           ok       401
  users.put               403      403      403    ok     ok           ok       401
  users.delete            403      403      403    ok     404          ok       401
  users.bulkDelete        403      403      403    ok     ok           ok       401
  channels.list           ok       ok       ok     ok     401          401      401
  channels.create         ok       ok       ok     ok     401          401      401
  channels.get            404      403      ok     ok     401          401      401
  channels.update         404      403      403    ok     401          401      401
  channels.delete         404      403      403    ok     401          401      401
  channels.updateSettings 404      403      ok     ok     401          401      401
  members.list            404      403      ok     ok     401          401      401
  members.add             404      403      ok     ok     401          401      401
  members.update          404      403      403    ok     401          401      401
  members.remove          404      403      403    ok     401          401      401
  members.join            404      403      ok     ok     401          401      401
  members.leave           404      403      ok     ok     401          401      401
  messages.list           404      403      ok     ok     401          401      401
  messages.get            404      403      ok     ok     401          401      401
  messages.replies        404      403      ok     ok     401          401      401
  messages.send           404      403      ok     ok     401          401      401
  messages.edit           404      403      403    ok     401          401      401
  messages.delete         404      403      403    ok     404          ok       401
  reactions.add           404      403      ok     ok     401          401      401
  reactions.remove        404      403      ok     ok     401          401      401
  pins.pin                404      403      ok     ok     401          401      401
  pins.unpin              404      403      ok     ok     401          401      401
  pins.list               404      403      ok     ok     401          401      401
  reads.mark              404      403      ok     ok     401          401      401
  reads.unreadCount       ok       ok       ok     ok     401          401      401
  receipts.mark           404      403      ok     ok     401          401      401
  receipts.get            404      403      ok     ok     401          401      401
  receipts.query          404      403      ok     ok     401          401      401
  receipts.status         404      403      ok     ok     401          401      401
  sync.pull               ok       ok       ok     ok     401          401      401
  workspaces.list         ok       ok       ok     ok     401          401      401
  workspaces.create       ok       ok       ok     ok     401          401      401
  workspaces.members      404      403      ok     ok     401          401      401
  workspaces.removeMember 404      403      403    ok     401          401      401
  invites.create          404      403      403    ok     401          401      401
  invites.accept          404      admits   ok     ok     401          401      401
  devices.create          ok       ok       ok     ok     401          401      401
  devices.delete          404      404      404    ok     401          401      401
  preferences.get         ok       ok       ok     ok     401          401      401
  preferences.update      ok       ok       ok     ok     401          401      401
  typing.set              404      403      ok     ok     401          401      401
`)

/** What credentials that are none are answered, by what an operation wants. */
const credentials = rows(`
            nothing      garbage       expired       otherAlgorithm wsToken       tokenAsKey   keyAsToken
  none      ok           ok            ok            ok             ok            ok           ok
  admin     UNAUTHORIZED UNAUTHORIZED  UNAUTHORIZED  UNAUTHORIZED   UNAUTHORIZED  UNAUTHORIZED UNAUTHORIZED
  key       UNAUTHORIZED UNAUTHORIZED  UNAUTHORIZED  UNAUTHORIZED   UNAUTHORIZED  UNAUTHORIZED UNAUTHORIZED
  user      UNAUTHORIZED INVALID_TOKEN INVALID_TOKEN INVALID_TOKEN  INVALID_TOKEN UNAUTHORIZED INVALID_TOKEN
  userOrKey UNAUTHORIZED INVALID_TOKEN INVALID_TOKEN INVALID_TOKEN  INVALID_TOKEN UNAUTHORIZED INVALID_TOKEN
`)

/** What becomes of a call in which an id is of another channel, workspace or app, if it is not `404`. */
const foreign: Record<string, string> = {
  'tokens.create userId': 'ok', // makes a user of that id in this app
  'users.put userId': 'ok',
  'users.sync users': 'ok',
  'users.bulkDelete userIds': 'ok', // leaves it out
  'channels.create memberIds': '400', // names those who are unknown
  'members.add userIds': '400',
  'receipts.query messageIds': 'ok', // leaves it out
  'sync.pull channels': 'ok', // says that it is removed
}

/** The table as `{ [row]: { [column]: cell } }`. */
function rows(table: string): Record<string, Record<string, string>> {
  const [columns = [], ...lines] = table
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/ +/))
  return Object.fromEntries(
    lines.map(([name, ...cells]) => [
      name,
      Object.fromEntries(columns.map((column, place) => [column, cells[place] ?? 'missing'])),
    ]),
  )
}

const world = useWorld({ userAdminAccess: 'server' })
type Tenant = { appId: string; apiKey: string }
let ours: Tenant
let theirs: Tenant
beforeAll(async () => {
  ours = world()
  const { id: appId, apiKey } = await world().operator.apps.create({ name: 'Other' })
  theirs = { appId, apiKey }
})
// What a test leaves behind would be compared in all that follow.
afterEach(async () => {
  for (const table of ['channels', 'workspaces', 'users', 'events'])
    await world().db.unsafe(`delete from ${table}`)
})

/** In all that belongs to the group and nowhere else. */
const SECRET_WORD = 'hush'
let scenes = 0

/** A group of three with a message, and their workspace; outside of both a user of the app. */
async function setScene(tenant = ours, ownerId = `owner-${++scenes}`) {
  const [memberId, thirdId, outsiderId] = ['member', 'third', 'outsider'].map(
    (name) => `${name}-${++scenes}`,
  ) as [string, string, string]
  await world().db`
    insert into users (app_id, id, email, last_active_at) select ${tenant.appId}, id, ${`${SECRET_WORD}@example.com`}, now() from unnest(${[ownerId, memberId, thirdId, outsiderId]}::text[]) id
    on conflict do nothing`
  const tokenOf = (userId: string, { appId = tenant.appId, admin = false } = {}) =>
    world().sign('api', { appId, userId, generation: 0, admin })
  const owner = world().api({ token: await tokenOf(ownerId) })
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
    { db: world().db, appId: tenant.appId },
    { [ownerId]: 'owner', [memberId]: 'member', [thirdId]: 'member' },
  )
  await world().db`update workspaces set name = ${SECRET_WORD} where id = ${workspaceId}`
  return {
    tenant,
    ownerId,
    memberId,
    thirdId,
    outsiderId,
    owner,
    channelId,
    messageId,
    workspaceId,
    tokenOf,
  }
}
type Scene = Awaited<ReturnType<typeof setScene>>

/** Who calls, each by his credentials. The stranger's id in his app is the member's in this one. */
async function callers({
  tokenOf,
  memberId,
  outsiderId,
  ownerId,
}: Scene): Promise<Record<string, Credentials>> {
  await world()
    .db`insert into users (app_id, id) values (${theirs.appId}, ${memberId}) on conflict do nothing`
  const [stranger, outsider, member, owner] = await Promise.all([
    tokenOf(memberId, { appId: theirs.appId }),
    tokenOf(outsiderId),
    tokenOf(memberId),
    tokenOf(ownerId),
  ])
  return {
    stranger: { token: stranger },
    outsider: { token: outsider },
    member: { token: member },
    owner: { token: owner },
    otherBackend: { apiKey: theirs.apiKey },
    backend: { apiKey: ours.apiKey },
    operator: { adminKey: ADMIN_KEY },
  }
}

/** What looks like the owner's credentials, and is none. */
async function pretenders({
  tokenOf,
  tenant,
  ownerId,
}: Scene): Promise<Record<string, Credentials>> {
  const token = await tokenOf(ownerId)
  const wsToken = await world().sign('ws', {
    appId: tenant.appId,
    userId: ownerId,
    generation: 0,
    admin: false,
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
  }
}

/** Valid input for an operation, of the scene wherever it can be: the ids it wants, and what else it can not do without. */
async function argsFor(
  id: string,
  op: Operation,
  scene: Scene,
  also = 'name',
): Promise<Record<string, unknown>> {
  const { channelId, messageId, workspaceId, ownerId, thirdId, outsiderId, tenant, owner } = scene
  const isAboutUsers = id.startsWith('users.') || id.startsWith('tokens.')
  const known: Record<string, () => unknown> = {
    appId: () => tenant.appId,
    keyId: async () => (await world().operator.apps.createKey({ appId: tenant.appId })).id,
    userId: () => (isAboutUsers ? ownerId : thirdId),
    userIds: () => (isAboutUsers ? [ownerId] : [outsiderId]),
    memberIds: () => [thirdId],
    users: () => [{ id: ownerId, name: 'New name' }],
    channelId: () => channelId,
    messageId: () => messageId,
    messageIds: () => [messageId],
    parentId: () => messageId,
    before: () => messageId,
    after: () => messageId,
    channels: () => ({ [channelId]: 0 }),
    workspaceId: () => workspaceId,
    deviceId: async () =>
      (await owner.devices.create({ platform: 'ios', provider: 'apns', token: randomUUID() })).id,
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
  const wanted = Object.keys(op.input.shape).filter(
    (field) => field === also || !op.input.shape[field]?.safeParse(undefined).success,
  )
  return Object.fromEntries(
    await Promise.all(wanted.map(async (field) => [field, await known[field]?.()])),
  )
}

/** `ok` or the code of the refusal, and all that was answered. */
async function outcomeOf(api: Api, id: string, args: object) {
  const [noun = '', name = ''] = id.split('.')
  const call = (api as never as Record<string, Record<string, (args: object) => Promise<unknown>>>)[
    noun
  ]?.[name]
  if (!call) throw new Error(`no operation ${id}`)
  try {
    return { outcome: 'ok', said: JSON.stringify(await call(args)) }
  } catch (error) {
    if (isChatError(error) && error.code !== 'NETWORK_ERROR')
      return { outcome: error.code, said: error.message }
    throw error
  }
}
const statusOf = (outcome: string) =>
  outcome === 'ok' ? 'ok' : String(errorStatus[outcome as keyof typeof errorStatus])

/** What the database holds that it did not hold before, and no longer holds; but for the sign of life that the node gives of itself. */
async function changesBy(work: () => Promise<void>) {
  const rows = async () =>
    new Set((await dump(world())).filter((row) => !row.startsWith('public.nodes ')))
  const before = await rows()
  await work()
  const after = await rows()
  return [...before]
    .filter((row) => !after.has(row))
    .concat([...after].filter((row) => !before.has(row)))
}

test('every operation of the contract has its row in the table, and nothing else has', () => {
  expect(Object.keys(matrix).sort()).toEqual(operations.map(([id]) => id).sort())
  expect(new Set(operations.map(([, { auth }]) => auth))).toEqual(new Set(Object.keys(credentials)))
  const cells = [
    ...Object.values(matrix).flatMap(Object.values),
    ...Object.values(credentials).flatMap(Object.values),
  ]
  expect(new Set(cells)).toEqual(
    new Set(['ok', 'admits', '401', '403', '404', 'UNAUTHORIZED', 'INVALID_TOKEN']),
  )
})

describe.each(operations)('%s', (id, op) => {
  const verdicts = matrix[id] ?? {}
  const isRefused = ([, verdict]: [string, string]) => /^\d/.test(verdict)

  test('refuses whom it should, telling nothing and changing nothing', async () => {
    const scene = await setScene()
    const [cast, fakes, args] = [
      await callers(scene),
      await pretenders(scene),
      await argsFor(id, op, scene),
    ]
    expect(op.input.safeParse(args).error).toBeUndefined()
    const refused = Object.entries(verdicts).filter(isRefused)
    const ask = async (as: Credentials | undefined) => {
      const { outcome, said } = await outcomeOf(world().api(as), id, args)
      expect(said).not.toContain(SECRET_WORD)
      return outcome
    }
    const changes = await changesBy(async () => {
      for (const [name, verdict] of refused)
        expect([name, statusOf(await ask(cast[name]))]).toEqual([name, verdict])
      for (const [name, as] of Object.entries(fakes))
        expect([name, await ask(as)]).toEqual([name, credentials[op.auth]?.[name]])
    })
    expect(changes).toEqual([])
  })

  test('serves whom it should, and tells nobody outside of what is inside', async () => {
    for (const [name, verdict] of Object.entries(verdicts).filter((cell) => !isRefused(cell))) {
      const scene = await setScene()
      const { outcome, said } = await outcomeOf(
        world().api((await callers(scene))[name]),
        id,
        await argsFor(id, op, scene),
      )
      expect([name, outcome]).toEqual([name, 'ok'])
      const isOutside = name === 'stranger' || name === 'outsider' || name === 'otherBackend'
      if (isOutside && verdict !== 'admits') expect(said).not.toContain(SECRET_WORD)
    }
  })
})

/** The fields that name something: all that a scene has ids for. */
const names =
  /^(userId|memberId|messageId|userIds|memberIds|messageIds|parentId|before|after|users|channels|channelId|workspaceId|deviceId|appId|keyId)$/
const idFields = operations.flatMap(([id, op]) =>
  Object.keys(op.input.shape)
    .filter((field) => names.test(field) || (id === 'invites.accept' && field === 'token'))
    .filter(
      (field) =>
        `${id} ${field}` !== 'apps.createKey appId' &&
        `${id} ${field}` !== 'devices.create deviceId',
    )
    .map((field) => ({ place: `${id} ${field}`, id, op, field })),
)
/** Those that name something within what another id of the same call names. */
const inner = idFields.filter(
  ({ id, field }) =>
    /^(messageId|messageIds|parentId|before|after)$/.test(field) ||
    (field === 'userId' && /^(members|workspaces)/.test(id)),
)

test('an id that is added to the contract is looked at as well', () => {
  const fields = operations.flatMap(([, op]) => [
    ...Object.keys(op.input.shape),
    ...pathParameters(op.path),
  ])
  const free = new Set(['clientId', 'emoji', 'token'])
  expect(
    fields.filter((field) => /Ids?$/.test(field) && !names.test(field) && !free.has(field)),
  ).toEqual([])
  const inPaths = operations.flatMap(([, { path }]) => pathParameters(path))
  expect(inPaths.filter((field) => !names.test(field) && !free.has(field))).toEqual([])
})

/** Whoever may do most with an operation. */
const mightiest = async (auth: Auth, { tokenOf, ownerId }: Scene): Promise<Credentials[]> => {
  const owner = { token: await tokenOf(ownerId, { admin: true }) }
  const backend = { apiKey: ours.apiKey }
  return {
    none: [{}],
    admin: [{ adminKey: ADMIN_KEY }],
    key: [backend],
    user: [owner],
    userOrKey: [owner, backend],
  }[auth]
}

/** Calls with one id of the other scene in place of the own one. */
async function expectForeign(
  { place, id, op, field }: (typeof idFields)[number],
  scene: Scene,
  other: Scene,
) {
  const args = {
    ...(await argsFor(id, op, scene)),
    ...pick(await argsFor(id, op, other, field), field),
  }
  const verdict = foreign[place] ?? '404'
  for (const as of await mightiest(op.auth, scene)) {
    const changes = await changesBy(async () => {
      const { outcome, said } = await outcomeOf(world().api(as), id, args)
      expect([place, statusOf(outcome)]).toEqual([place, verdict])
      expect(said).not.toContain(SECRET_WORD)
    })
    expect(
      changes.filter(
        (row) => verdict !== 'ok' || row.includes(other.channelId) || row.includes(theirs.appId),
      ),
    ).toEqual([])
  }
}
const pick = (args: Record<string, unknown>, field: string) => ({ [field]: args[field] })

test.each(idFields)('$place of another app names nothing', async (where) =>
  expectForeign(where, await setScene(), await setScene(theirs)),
)

test.each(inner)(
  '$place of another channel or workspace of the same owner names nothing',
  async (where) => {
    const scene = await setScene()
    await expectForeign(where, scene, await setScene(ours, scene.ownerId))
  },
)
