import { afterEach, describe, expect, test } from 'vitest'
import { changesBy } from '../support/dump.ts'
import { type CallerCredentials, operations } from '../support/validated.ts'
import {
  argsFor,
  callersOf,
  createScene,
  invalidCredentials,
  outcomeOf,
  type Scene,
  SECRET_WORD,
  statusOf,
} from './fixture.ts'
import { useTenants } from './tenants.ts'

const { world, removeScenes, theirs } = useTenants()

/**
 * The answer to each caller of an operation on a group, on its content and on its workspace. `ok`:
 * carried out, and users outside see nothing of the group unless the call `admits` them. A number:
 * refused with this status, nothing of the group is shown and nothing is changed. `asOwner` is the
 * backend with the owner's id in `X-User-Id`.
 */
const matrix = rows(`
                          theirs outsider member owner theirKey key theirAs asMember asOwner admin
  service.health          ok     ok       ok     ok    ok       ok  ok      ok       ok      ok
  service.live            ok     ok       ok     ok    ok       ok  ok      ok       ok      ok
  apps.list               401    401      401    401   401      401 401     401      401     ok
  apps.create             401    401      401    401   401      401 401     401      401     ok
  apps.createKey          401    401      401    401   401      401 401     401      401     ok
  apps.deleteKey          401    401      401    401   401      401 401     401      401     ok
  apps.get                401    401      401    401   401      401 401     401      401     ok
  apps.update             401    401      401    401   401      401 401     401      401     ok
  apps.delete             401    401      401    401   401      401 401     401      401     ok
  apps.usage              401    401      401    401   401      401 401     401      401     ok
  apps.listKeys           401    401      401    401   401      401 401     401      401     ok
  apps.updateKey          401    401      401    401   401      401 401     401      401     ok
  inspect.users           401    401      401    401   401      401 401     401      401     ok
  inspect.notifications   401    401      401    401   401      401 401     401      401     ok
  inspect.channels        401    401      401    401   401      401 401     401      401     ok
  inspect.messages        401    401      401    401   401      401 401     401      401     ok
  inspect.webhooks        401    401      401    401   401      401 401     401      401     ok
  inspect.deliveries      401    401      401    401   401      401 401     401      401     ok
  audit.list              401    401      401    401   401      401 401     401      401     ok
  audit.listOfApp         401    401      401    401   401      401 401     401      401     ok
  jobs.list               401    401      401    401   401      401 401     401      401     ok
  jobs.retry              401    401      401    401   401      401 401     401      401     ok
  tokens.create           401    401      401    401   ok       ok  401     401      401     401
  tokens.revoke           401    401      401    401   404      ok  401     401      401     401
  users.list              ok     ok       ok     ok    ok       ok  ok      ok       ok      401
  users.get               404    ok       ok     ok    404      ok  404     ok       ok      401
  users.sync              403    403      403    ok    ok       ok  403     403      ok      401
  users.put               403    403      403    ok    ok       ok  403     403      ok      401
  users.delete            403    403      403    ok    404      ok  403     403      ok      401
  users.bulkDelete        403    403      403    ok    ok       ok  403     403      ok      401
  users.export            401    401      401    401   404      ok  401     401      401     401
  channels.list           ok     ok       ok     ok    ok       ok  ok      ok       ok      401
  channels.create         ok     ok       ok     ok    ok       ok  ok      ok       ok      401
  channels.get            404    403      ok     ok    404      ok  404     ok       ok      401
  channels.update         404    403      403    ok    404      ok  404     403      ok      401
  channels.delete         404    403      403    ok    404      ok  404     403      ok      401
  channels.updateSettings 404    403      ok     ok    401      401 404     ok       ok      401
  members.list            404    403      ok     ok    404      ok  404     ok       ok      401
  members.add             404    403      ok     ok    404      ok  404     ok       ok      401
  members.update          404    403      403    ok    401      401 404     403      ok      401
  members.remove          404    403      403    ok    404      ok  404     403      ok      401
  members.join            404    403      ok     ok    401      401 404     ok       ok      401
  members.leave           404    403      ok     ok    401      401 404     ok       ok      401
  messages.list           404    403      ok     ok    404      ok  404     ok       ok      401
  messages.get            404    403      ok     ok    401      401 404     ok       ok      401
  messages.replies        404    403      ok     ok    401      401 404     ok       ok      401
  messages.send           404    403      ok     ok    404      ok  404     ok       ok      401
  messages.sendBatch      404    403      ok     ok    404      ok  404     ok       ok      401
  messages.edit           404    403      403    ok    401      401 404     403      ok      401
  messages.delete         404    403      403    ok    404      ok  404     403      ok      401
  streams.append          404    403      403    ok    401      401 404     403      ok       401
  streams.finish          404    403      403    ok    401      401 404     403      ok       401
  reactions.add           404    403      ok     ok    401      401 404     ok       ok      401
  reactions.remove        404    403      ok     ok    401      401 404     ok       ok      401
  pins.pin                404    403      ok     ok    401      401 404     ok       ok      401
  pins.unpin              404    403      ok     ok    401      401 404     ok       ok      401
  pins.list               404    403      ok     ok    401      401 404     ok       ok      401
  reads.mark              404    403      ok     ok    401      401 404     ok       ok      401
  reads.unreadCount       ok     ok       ok     ok    401      401 ok      ok       ok      401
  receipts.mark           404    403      ok     ok    401      401 404     ok       ok      401
  receipts.get            404    403      ok     ok    401      401 404     ok       ok      401
  receipts.query          404    403      ok     ok    401      401 404     ok       ok      401
  receipts.status         404    403      ok     ok    401      401 404     ok       ok      401
  sync.pull               ok     ok       ok     ok    401      401 ok      ok       ok      401
  workspaces.list         ok     ok       ok     ok    401      401 ok      ok       ok      401
  workspaces.create       ok     ok       ok     ok    401      401 ok      ok       ok      401
  workspaces.members      404    403      ok     ok    401      401 404     ok       ok      401
  workspaces.removeMember 404    403      403    ok    401      401 404     403      ok      401
  invites.create          404    403      403    ok    401      401 404     403      ok      401
  invites.list            404    403      403    ok    401      401 404     403      ok      401
  invites.revoke          404    403      403    ok    401      401 404     403      ok      401
  invites.accept          404    admits   ok     ok    401      401 404     ok       ok      401
  abandoned.channels      401    401      401    401   ok       ok  401     401      401     401
  abandoned.deleteChannel 401    401      401    401   404      403 401     401      401     401
  abandoned.workspaces    401    401      401    401   ok       ok  401     401      401     401
  abandoned.deleteWorkspace 401    401      401    401   404      403 401     401      401     401
  devices.create          ok     ok       ok     ok    401      401 ok      ok       ok      401
  devices.delete          404    404      404    ok    401      401 404     404      ok      401
  preferences.get         ok     ok       ok     ok    401      401 ok      ok       ok      401
  preferences.update      ok     ok       ok     ok    401      401 ok      ok       ok      401
  typing.set              404    403      ok     ok    401      401 404     ok       ok      401
  webhooks.create         401    401      401    401   ok       ok  401     401      401     401
  webhooks.list           401    401      401    401   ok       ok  401     401      401     401
  webhooks.update         401    401      401    401   404      ok  401     401      401     401
  webhooks.delete         401    401      401    401   404      ok  401     401      401     401
  webhooks.rotate         401    401      401    401   404      ok  401     401      401     401
  webhooks.test           401    401      401    401   404      ok  401     401      401     401
  webhooks.deliveries     401    401      401    401   404      ok  401     401      401     401
  webhooks.retry          401    401      401    401   404      ok  401     401      401     401
  webhooks.replay         401    401      401    401   404      ok  401     401      401     401
  hooks.setBeforeSend     401    401      401    401   ok       ok  401     401      401     401
  hooks.getBeforeSend     401    401      401    401   404      ok  401     401      401     401
  hooks.deleteBeforeSend  401    401      401    401   404      ok  401     401      401     401
  hooks.rotateBeforeSend  401    401      401    401   404      ok  401     401      401     401
  imports.run             401    401      401    401   ok       ok  401     401      401     401
`)

/** The answers to invalid credentials, by the credentials that an operation requires. */
const credentials = rows(`
                 none admin        key          user          userOrKey
  nothing        ok   UNAUTHORIZED UNAUTHORIZED UNAUTHORIZED  UNAUTHORIZED
  garbage        ok   UNAUTHORIZED UNAUTHORIZED INVALID_TOKEN INVALID_TOKEN
  expired        ok   UNAUTHORIZED UNAUTHORIZED INVALID_TOKEN INVALID_TOKEN
  otherAlgorithm ok   UNAUTHORIZED UNAUTHORIZED INVALID_TOKEN INVALID_TOKEN
  wsToken        ok   UNAUTHORIZED UNAUTHORIZED INVALID_TOKEN INVALID_TOKEN
  tokenAsKey     ok   UNAUTHORIZED UNAUTHORIZED UNAUTHORIZED  UNAUTHORIZED
  keyAsToken     ok   UNAUTHORIZED UNAUTHORIZED INVALID_TOKEN INVALID_TOKEN
  userIdAlone    ok   UNAUTHORIZED UNAUTHORIZED UNAUTHORIZED  UNAUTHORIZED
  userIdWithToken ok  UNAUTHORIZED UNAUTHORIZED UNAUTHORIZED  UNAUTHORIZED
  userIdWithBadKey ok UNAUTHORIZED UNAUTHORIZED UNAUTHORIZED  UNAUTHORIZED
`)

/** A table as `{ [row]: { [column]: cell } }`. */
function rows(table: string): Record<string, Record<string, string>> {
  const [columns = [], ...lines] = table
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/ +/))
  return Object.fromEntries(
    lines.map(([name, ...cells]) => [
      name,
      Object.fromEntries(columns.map((column, index) => [column, cells[index] ?? 'missing'])),
    ]),
  )
}

test('the table of rights has a row for every operation of the contract and no others', () => {
  expect(Object.keys(matrix).sort()).toEqual(operations.map(([id]) => id).sort())
  const auths = new Set(operations.map(([, { auth }]) => auth))
  for (const answers of Object.values(credentials))
    expect(new Set(Object.keys(answers))).toEqual(auths)
  const cells = [
    ...Object.values(matrix).flatMap(Object.values),
    ...Object.values(credentials).flatMap(Object.values),
  ]
  expect(new Set(cells)).toEqual(
    new Set(['ok', 'admits', '401', '403', '404', 'UNAUTHORIZED', 'INVALID_TOKEN']),
  )
})

test('the comparison of all rows shows each that is added, changed or removed', async () => {
  const { db, appId } = world()
  const addUser = async (id: string) =>
    void (await db`insert into users (app_id, id) values (${appId}, ${id})`)
  await addUser('changed')
  await addUser('removed')
  const changes = await changesBy(world(), async () => {
    await addUser('added')
    await db`
      update users
      set name = 'New'
      where app_id = ${appId}
        and id = 'changed'`
    await db`delete from users where app_id = ${appId} and id = 'removed'`
  })
  const names = changes.map((row) => /added|changed|removed/.exec(row)?.[0]).sort()
  expect(names).toEqual(['added', 'changed', 'changed', 'removed'])
})

/** Operations after which the next caller would find less in the scene, or have more rights. */
const takesAway = /\.(delete|bulkDelete|remove|leave|revoke|accept|finish)/

/** Each operation is tried with this many invalid credentials, and each `auth` with all of them. */
const TRIED = 4
const kinds = Object.keys(credentials)
const turns = new Map<string, number>()
function nextKinds(auth: string) {
  const turn = turns.get(auth) ?? 0
  turns.set(auth, turn + TRIED)
  return Array.from({ length: TRIED }, (_, index) => kinds[(turn + index) % kinds.length] ?? '')
}
const kindsFor = new Map(operations.map(([id, { auth }]) => [id, nextKinds(auth)]))

const isRefused = ([, verdict]: [string, string]) => /^\d/.test(verdict)

describe('callers without the right', () => {
  // Refused calls leave it as it was.
  let shared: Promise<Scene> | undefined

  test.each(operations)('%s: they are refused, nothing is revealed or changed', async (id, op) => {
    shared ??= createScene(world())
    const scene = await shared
    const [callers, invalid, args] = [
      await callersOf(scene, theirs()),
      await invalidCredentials(scene),
      await argsFor(id, op, scene),
    ]
    expect(op.input.safeParse(args).error).toBeUndefined()
    const refused = Object.entries(matrix[id] ?? {}).filter(isRefused)
    const ask = async (as: CallerCredentials | undefined) => {
      const { outcome, answer } = await outcomeOf(world().api(as), id, args)
      expect(answer).not.toContain(SECRET_WORD)
      return outcome
    }
    const changes = await changesBy(world(), async () => {
      for (const [name, verdict] of refused)
        expect([name, statusOf(await ask(callers[name]))]).toEqual([name, verdict])
      for (const name of kindsFor.get(id) ?? [])
        expect([name, await ask(invalid[name])]).toEqual([name, credentials[name]?.[op.auth]])
    })
    expect(changes).toEqual([])
  })
})

describe('callers with the right', () => {
  afterEach(removeScenes)

  test.each(operations)('%s: they are served, outsiders see nothing inside', async (id, op) => {
    let scene: Scene | undefined
    const served = Object.entries(matrix[id] ?? {}).filter((cell) => !isRefused(cell))
    for (const [name, verdict] of served) {
      if (!scene || takesAway.test(id)) scene = await createScene(world())
      const { outcome, answer } = await outcomeOf(
        world().api((await callersOf(scene, theirs()))[name]),
        id,
        await argsFor(id, op, scene),
      )
      expect([name, outcome]).toEqual([name, 'ok'])
      const isOutside = /^(outsider|theirs|theirKey|theirAs)$/.test(name)
      if (isOutside && verdict !== 'admits') expect(answer).not.toContain(SECRET_WORD)
    }
  })
})
