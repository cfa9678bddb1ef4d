import type { Credentials } from '@parley/client/api'
import { type Auth, pathParameters } from '@parley/contract'
import { expect, test } from 'vitest'
import { changesBy } from '../support/dump.ts'
import { operations } from '../support/validated.ts'
import { ADMIN_KEY } from '../support/world.ts'
import { argsFor, createScene, outcomeOf, type Scene, SECRET_WORD, statusOf } from './fixture.ts'
import { useTenants } from './tenants.ts'

const { world, ours, theirs } = useTenants()

/** The answers to an id of another channel, workspace or app, where they are not `404`. */
const foreign: Record<string, string> = {
  'tokens.create userId': 'ok', // makes a user of that id in this app
  'users.put userId': 'ok',
  'users.sync users': 'ok',
  'users.bulkDelete userIds': 'ok', // leaves it out
  'channels.create memberIds': '400', // lists the unknown ones
  'members.add userIds': '400',
  'receipts.query messageIds': 'ok', // leaves it out
  'sync.pull channels': 'ok', // answers that it is removed
  'sync.pull userIds': 'ok', // leaves it out
  ...Object.fromEntries(
    [
      ...['audit.list userId', 'audit.list keyId', 'audit.list targetId'],
      ...['audit.listOfApp userId', 'audit.listOfApp keyId', 'audit.listOfApp targetId'],
      ...['inspect.users userId', 'inspect.channels userId', 'inspect.channels channelId'],
      'inspect.messages userId',
    ].map((input) => [input, 'ok']), // nothing matches
  ),
}

/** The fields that hold an id of something that a scene has. */
const idNames = new RegExp(
  `^(${[
    'userId|memberId|messageId|userIds|memberIds|messageIds|parentId|before|after|users|channels',
    'channelId|workspaceId|inviteId|deviceId|appId|keyId|jobId|webhookId|deliveryId',
    'quotedMessageId|targetId',
  ].join('|')})$`,
)
/** The operator names an app, and nothing that belongs to it. */
const ofAnyApp = new Set([
  ...['createKey', 'listKeys', 'get', 'update', 'delete', 'usage'].map((verb) => `apps.${verb}`),
  ...['users', 'channels', 'webhooks'].map((verb) => `inspect.${verb}`),
  ...['jobs.list', 'audit.listOfApp'],
])
const idFields = operations.flatMap(([id, op]) =>
  Object.keys(op.input.shape)
    .filter((field) => idNames.test(field) || (id === 'invites.accept' && field === 'token'))
    .filter(
      (field) =>
        !(field === 'appId' && ofAnyApp.has(id)) && `${id} ${field}` !== 'devices.create deviceId',
    )
    .map((field) => ({ input: `${id} ${field}`, id, op, field })),
)
/** Fields whose id must belong to what another id of the same call refers to. */
const nestedIdFields = idFields.filter(
  ({ id, field }) =>
    /^(messageId|messageIds|parentId|quotedMessageId|before|after|inviteId)$/.test(field) ||
    (field === 'userId' && /^(members|workspaces)/.test(id)),
)

test('every id field of the contract is covered by these tests', () => {
  const fields = operations.flatMap(([, op]) => [
    ...Object.keys(op.input.shape),
    ...pathParameters(op.path),
  ])
  const free = new Set(['clientId', 'emoji', 'token'])
  expect(
    fields.filter((field) => /Ids?$/.test(field) && !idNames.test(field) && !free.has(field)),
  ).toEqual([])
  const inPaths = operations.flatMap(([, { path }]) => pathParameters(path))
  expect(inPaths.filter((field) => !idNames.test(field) && !free.has(field))).toEqual([])
})

/** The callers with the most rights to an operation. */
const mostPowerful = async (auth: Auth, { tokenOf, ownerId }: Scene): Promise<Credentials[]> => {
  const owner = { token: await tokenOf(ownerId, { admin: true }) }
  const backend = { apiKey: ours().apiKey }
  return {
    none: [{}],
    admin: [{ adminKey: ADMIN_KEY }],
    key: [backend],
    user: [owner],
    userOrKey: [owner, backend],
  }[auth]
}

/** Calls the operation with one id of another scene in place of the scene's own. */
async function expectForeign(
  { input, id, op, field }: (typeof idFields)[number],
  scene: Scene,
  other: Scene,
) {
  const args = {
    ...(await argsFor(id, op, scene)),
    ...pick(await argsFor(id, op, other, field), field),
    // Beside the users, a sync shows the scene's own channel.
    ...(input === 'sync.pull userIds' && { channels: {} }),
  }
  const expected = foreign[input] ?? '404'
  for (const as of await mostPowerful(op.auth, scene)) {
    const changes = await changesBy(world(), async () => {
      const { outcome, answer } = await outcomeOf(world().api(as), id, args)
      expect([input, statusOf(outcome)]).toEqual([input, expected])
      expect(answer).not.toContain(SECRET_WORD)
    })
    expect(
      changes.filter(
        (row) => expected !== 'ok' || row.includes(other.channelId) || row.includes(theirs().appId),
      ),
    ).toEqual([])
  }
}
const pick = (args: Record<string, unknown>, field: string) => ({ [field]: args[field] })

/** Refused calls leave scenes as they were, so that many can share them. */
const sharedScenes = new Map<string, Promise<Scene>>()
function sceneFor({ input }: (typeof idFields)[number], name: string, make: () => Promise<Scene>) {
  if (foreign[input] === 'ok') return make()
  const scene = sharedScenes.get(name) ?? make()
  sharedScenes.set(name, scene)
  return scene
}
const sceneOf = (idField: (typeof idFields)[number]) =>
  sceneFor(idField, 'own', () => createScene(world()))

test.each(idFields)('$input: an id of another app is not found', async (idField) =>
  expectForeign(
    idField,
    await sceneOf(idField),
    await sceneFor(idField, 'of the other app', () => createScene(world(), theirs())),
  ),
)

test.each(nestedIdFields)(
  '$input: an id of another channel or workspace of the same owner is not found',
  async (idField) => {
    const scene = await sceneOf(idField)
    const second = () => createScene(world(), ours(), scene.ownerId)
    await expectForeign(idField, scene, await sceneFor(idField, 'of the same owner', second))
  },
)
