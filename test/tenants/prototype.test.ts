import { expect, test } from 'vitest'
import { page, previewsFrom, servePages } from '../support/pages.ts'
import { RawSocket } from '../support/socket.ts'
import { TWIN_APP_ID, TWIN_NODE_ID } from '../support/twin/index.ts'
import { until } from '../support/until.ts'
import { userColumns } from '../support/user-columns.ts'
import { createWorld, type World } from '../support/world.ts'

// The namesakes of the twin are copies of these rows (see test/support/twin). After a change of
// what the product stores, write them again: npm test -- tenants/prototype -u
test('the seeded rows of the second app are those that the product writes', async () => {
  const web = await servePages({ '/page': page('<title>Page of-the-prototype</title>') })
  const world = await createWorld({ jobs: { previews: previewsFrom(web) } })
  try {
    await populate(world, `${web.url}/page`)
    const rows = await rowsOf(world)
    await expectWhole(world, rows)
    const normalise = createNormaliser(rows, { world, host: web.host })
    const lines = rows.map(({ table, row }) => `["${table}",${normalise(row)}]`)
    await expect(`[\n${lines.sort().join(',\n')}\n]\n`).toMatchFileSnapshot(
      '../support/twin/prototype.json',
    )
  } finally {
    await world.stop()
    await web.stop()
  }
})

/** Has two users leave a trace in every table. */
async function populate(world: World, link: string) {
  const { backend } = world
  const id = 'protouser'
  const image = 'https://of-the-prototype.example/image.png'
  const user = await world.user(id, { name: `${id} of-the-prototype`, image })
  const peer = await world.user(`${id}.peer`, { name: `${id} peer of-the-prototype`, image })
  await backend.users.put({
    userId: id,
    email: `${id}@of-the-prototype.example`,
    custom: { note: 'of-the-prototype' },
  })
  const description = 'of-the-prototype'
  const { id: workspaceId } = await user.workspaces.create({
    name: `${id} workspace of-the-prototype`,
    type: 'team',
    image,
  })
  const { token } = await user.invites.create({ workspaceId, maxUses: 3 })
  await peer.invites.accept({ token })
  const shared = { description, image, memberIds: [peer.id] }
  const { id: channelId } = await user.channels.create({
    ...shared,
    type: 'group',
    name: `${id} group of-the-prototype`,
    clientId: 'of-the-prototype',
  })
  await user.channels.create({ type: 'public', name: `${id} public of-the-prototype` })
  await user.channels.create({ type: 'team', name: `${id} team of-the-prototype`, workspaceId })
  const { id: directId } = await user.channels.create({ type: 'messaging', memberIds: [peer.id] })
  const { id: leftId } = await peer.channels.create({
    type: 'group',
    name: `${id} left of-the-prototype`,
    memberIds: [id],
  })

  const attachments = [{ type: 'file', url: image, title: 'of-the-prototype' }]
  const text = `of-the-prototype ${link}`
  const custom = { note: 'of-the-prototype' }
  const sent = await user.messages.send({
    channelId,
    text,
    attachments,
    custom,
    clientId: 'first',
  })
  // The event of the preview, from a job, has its place before those that follow.
  await until(async () => (await user.messages.get({ channelId, messageId: sent.id })).linkPreviews)
  await user.channels.update({ channelId, custom })
  await user.members.update({ channelId, userId: id, custom })
  const reply = await peer.messages.send({
    channelId,
    text: `of-the-prototype @${id}`,
    parentId: sent.id,
  })
  await peer.messages.edit({ channelId, messageId: reply.id, text: `of-the-prototype 2 @${id}` })
  const ref = { channelId, messageId: reply.id }
  await user.reads.mark(ref)
  await user.reactions.add({ ...ref, emoji: '👍' })
  await peer.reactions.add({ ...ref, messageId: sent.id, emoji: '👍' })
  await user.pins.pin({ ...ref, messageId: sent.id })
  const gone = await user.messages.send({ channelId, text: 'of-the-prototype gone' })
  await user.messages.delete({ channelId, messageId: gone.id })
  await user.channels.updateSettings({ channelId, starred: true, muted: true })
  for (const text of ['of-the-prototype unread', 'of-the-prototype unread too'])
    await peer.messages.send({ channelId, text })
  await peer.messages.send({ channelId: directId, text: 'of-the-prototype direct' })
  await user.messages.send({ channelId: leftId, text: 'of-the-prototype left' })
  await user.members.leave({ channelId: leftId })

  for (const [platform, provider] of [
    ['ios', 'apns'],
    ['android', 'fcm'],
  ] as const)
    await user.devices.create({
      platform,
      provider,
      token: `${provider} ${id} of-the-prototype`,
      deviceId: `${provider} of-the-prototype`,
      appVersion: 'of-the-prototype',
    })
  await user.preferences.update({
    pushEnabled: false,
    newMessages: false,
    mentions: false,
    quietHoursStart: '11:11',
  })
  const socket = await RawSocket.connect(world, user)
  socket.socket.terminate()
}

/**
 * Expects rows of every table that has a column for the id of a user, and that the twin gets those
 * of each table.
 */
async function expectWhole(world: World, rows: Row[]) {
  const tables = new Set(rows.map(({ table }) => table))
  const ofUsers = (await userColumns(world)).map((column) => column.replace(/\..*/, ''))
  const missing = new Set(ofUsers.filter((table) => !tables.has(table)))
  expect(missing, 'tables without a row of the prototype').toEqual(new Set(withoutPrototype))
  const [copying] = await world.db<{ source: string }[]>`
    select prosrc as source
    from pg_proc
    where oid = 'twin.add_namesakes'::regproc`
  const left = [...tables].filter((table) => !copying?.source.includes(`insert into ${table} as`))
  expect(left, 'tables that test/support/twin/install.sql does not copy').toEqual([])
}

type Row = { table: string; row: string }

/** The rows of the app as JSON, except the app itself and its keys. */
async function rowsOf({ db, appId }: World): Promise<Row[]> {
  const tables = await db<{ name: string }[]>`
    select table_name as name
    from information_schema.tables
    where table_schema = 'public'`
  const rows = await Promise.all(
    tables.map(async ({ name }) =>
      (await db.unsafe(`select to_jsonb(t)::text as row from ${name} t`)).map(
        ({ row }): Row => ({ table: name, row }),
      ),
    ),
  )
  const all = rows
    .flat()
    .filter(({ table, row }) => !notOfUsers.includes(table) && !row.includes(TWIN_APP_ID))
  const own = all.filter(({ row }) => row.includes(appId))
  // The use of an invite names the invite, not the app.
  const ids = new Set(idsIn(own))
  return all.filter(({ row }) => row.match(UUID)?.some((id) => ids.has(id)))
}

/** Tables whose rows are of the app as a whole. */
const notOfUsers = ['apps', 'api_keys', 'nodes', 'active_users', 'audit']
/** The audit log, and messages that grow: they end by themselves. */
const withoutPrototype = ['audit', 'message_streams']
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g

/** The ids in these rows, in the order in which they were made. */
const idsIn = (rows: Row[]) => [...new Set(rows.flatMap(({ row }) => row.match(UUID) ?? []))].sort()

/** Replaces ids, hashes, times and addresses by values that are the same in every run. */
function createNormaliser(rows: Row[], { world, host }: { world: World; host: string }) {
  const nodeId = rows
    .filter(({ table }) => table === 'connections')
    .map(({ row }) => JSON.parse(row).node_id)[0]
  const ids = idsIn(rows).filter((id) => id !== world.appId && id !== nodeId)
  const known = new Map(
    ids.map((id, index) => [id, `c0ffee00-c0de-4${String(index).padStart(3, '0')}-8000-${SLOT}`]),
  )
  known.set(world.appId, TWIN_APP_ID)
  known.set(nodeId, TWIN_NODE_ID)
  return (row: string) =>
    row
      .replace(UUID, (id) => known.get(id) ?? id)
      .replace(/(?<=messaging:)[0-9a-f]{16}/g, SLOT)
      .replace(/[0-9a-f]{64}/g, `hash-${SLOT}`)
      .replace(TIME, '@now')
      .replace('"expires_at": "@now"', '"expires_at": "@later"')
      .replaceAll(`http://${host}`, 'https://of-the-twin.example')
      .replaceAll('of-the-prototype', 'of-the-twin')
}

/** Differs from namesake to namesake. */
const SLOT = 'aaaaaaaaaaaa'
