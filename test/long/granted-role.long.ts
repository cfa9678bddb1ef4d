import { connectOnce } from '@parley/server/db/client'
import { requireMigrated } from '@parley/server/db/migrate'
import { expect, test, vi } from 'vitest'
import { parleyOn } from '../app-files/command.ts'
import { cleanupElsewhere, erased } from '../support/cleanup.ts'
import { serveProvider } from '../support/provider.ts'
import { createSharedDatabase } from '../support/roles.ts'
import { RawSocket } from '../support/socket.ts'
import { until } from '../support/until.ts'
import { createWorld } from '../support/world.ts'

type Shared = Awaited<ReturnType<typeof createSharedDatabase>>
async function createRole(shared: Shared) {
  const { role, urlOf } = await shared.createRole()
  const url = new URL(urlOf('public'))
  url.searchParams.delete('search_path')
  return { role, url, urlOf }
}

test('a role that owns nothing runs everything once parley grant has run', async () => {
  const shared = await createSharedDatabase()
  const provider = await serveProvider()
  const { role, url } = await createRole(shared)
  // Like a hosted database: its owner is no superuser, and others have tables there.
  const { role: ownerRole, url: owner } = await createRole(shared)
  await shared.admin.unsafe(`
    grant ${ownerRole} to current_user;
    alter database ${new URL(shared.url).pathname.slice(1)} owner to ${ownerRole};
    create table public.statistics_of_an_extension (id int)`)
  const other = connectOnce(owner.href)
  await other`create table public.of_another_application (id serial)`
  await other.end()
  try {
    expect(await parleyOn(owner.href, 'grant', 'nobody-at-all')).toMatchObject({ code: 1 })
    await expect(requireMigrated(owner.href)).rejects.toThrow('its schema lacks')
    expect(await parleyOn(owner.href, 'migrate')).toMatchObject({ code: 0 })
    await expect(requireMigrated(url.href)).rejects.toThrow('permission denied')
    const granted = await parleyOn(owner.href, 'grant', role)
    expect(granted, granted.output).toMatchObject({ code: 0 })
    expect(await parleyOn(owner.href, 'grant', role)).toEqual(granted)
    // Removes these rights, as if a migration had made the tables since.
    await shared.admin.unsafe(`
      revoke all on apps, graphile_worker._private_jobs from ${role};
      drop policy parley_${role} on graphile_worker._private_jobs`)
    expect(await parleyOn(owner.href, 'migrate')).toMatchObject({ code: 0 })
    await requireMigrated(url.href)

    const world = await createWorld({ databaseUrl: url.href, jobs: { push: provider.settings } })
    const { backend, operator, appId } = world
    const [ana, ben] = [await world.user('ana'), await world.user('ben')]
    await ben.devices.create({ platform: 'ios', provider: 'apns', token: 'phone' })
    await ana.devices.create({ platform: 'ios', provider: 'apns', token: 'other' })
    const { id: channelId } = await ana.channels.create({
      type: 'group',
      name: 'Talk',
      memberIds: ['ben'],
    })
    const socket = await RawSocket.connect(world, ana)
    await socket.ask({ id: 2, subscribe: { channel: `chat:${appId}:${channelId}` } })
    const { id: messageId } = await ben.messages.send({ channelId, text: 'Hello' })
    await socket.pushed(({ pub }) => pub?.data.type === 'message.new')
    await ana.messages.send({ channelId, text: 'Hello @ben' })
    await until(() => provider.kindsFor('ben').includes('mention'))
    await ana.reactions.add({ channelId, messageId, emoji: '👍' })
    await ben.messages.edit({ channelId, messageId, text: 'Hi' })
    await ana.reads.mark({ channelId })
    expect((await backend.users.list({})).users).toHaveLength(2)
    await operator.apps.usage({ appId })
    await backend.users.delete({ userId: 'ben' })
    await erased(world)
    await operator.apps.delete({ appId })
    await cleanupElsewhere(world).pass()
    socket.socket.terminate()
    await world.stop()

    const sql = connectOnce(url.href)
    const owned = await sql`
      select
      from pg_class
      where relowner = ${role}::regrole`
    expect(owned).toEqual([])
    await expect(sql`create table public.mine (id int)`).rejects.toThrow('permission denied')
    await expect(sql`drop table messages`).rejects.toThrow('must be owner')
    for (const table of ['statistics_of_an_extension', 'of_another_application'])
      await expect(sql`select from ${sql(table)}`).rejects.toThrow('permission denied')
    await expect(sql`delete from drizzle.__drizzle_migrations`).rejects.toThrow('permission denied')
    await sql.end()
    await shared.admin.unsafe(`drop owned by ${role}`)
  } finally {
    await provider.stop()
    await shared.drop()
  }
})

test('a role that owns nothing runs a service in a schema of its own', async () => {
  const shared = await createSharedDatabase()
  const [owner, granted] = [await shared.createRole(), await shared.createRole()]
  const provider = await serveProvider()
  const schema = 'granted_chat'
  try {
    await shared.admin.unsafe(`create schema ${schema} authorization ${owner.role}`)
    const own = new URL(owner.urlOf(schema))
    own.searchParams.delete('search_path')
    vi.stubEnv('DATABASE_SCHEMA', schema)
    const { code, output } = await parleyOn(own.href, 'grant', granted.role)
    expect(code, output).toBe(0)
    const databaseUrl = granted.urlOf(schema)
    const world = await createWorld({ databaseUrl, jobs: { push: provider.settings } })
    const [ana, ben] = [await world.user('ana'), await world.user('ben')]
    await ben.devices.create({ platform: 'ios', provider: 'apns', token: 'phone' })
    const { id: channelId } = await ana.channels.create({
      type: 'group',
      name: 'Talk',
      memberIds: ['ben'],
    })
    await ana.messages.send({ channelId, text: 'Hello' })
    await until(() => provider.kindsFor('ben').length > 0)
    await world.stop()
    const sql = connectOnce(databaseUrl)
    await expect(sql`create table mine (id int)`).rejects.toThrow('permission denied')
    await expect(sql`delete from migrations`).rejects.toThrow('permission denied')
    await sql.end()
  } finally {
    await provider.stop()
    await shared.admin.unsafe(`
      drop schema ${schema} cascade;
      drop owned by ${granted.role};
      drop owned by ${owner.role}`)
    await shared.drop()
  }
})
