import { connectOnce } from '@parley/server/db/client'
import { requireMigrated } from '@parley/server/db/migrate'
import { expect, test } from 'vitest'
import { parleyOn } from './app-files/command.ts'
import { cleanupElsewhere, erased } from './support/cleanup.ts'
import { serveProvider } from './support/provider.ts'
import { createSharedDatabase } from './support/roles.ts'
import { RawSocket } from './support/socket.ts'
import { until } from './support/until.ts'
import { createWorld } from './support/world.ts'

test('a role that owns nothing runs everything once parley grant has run', async () => {
  const shared = await createSharedDatabase()
  const provider = await serveProvider()
  const { role, urlOf } = await shared.createRole()
  const url = new URL(urlOf('public'))
  url.searchParams.delete('search_path')
  const owner = shared.url
  try {
    expect(await parleyOn(owner, 'grant', 'nobody-at-all')).toMatchObject({ code: 1 })
    await expect(requireMigrated(url.href)).rejects.toThrow('permission denied')
    const granted = await parleyOn(owner, 'grant', role)
    expect(granted, granted.output).toMatchObject({ code: 0 })
    expect(await parleyOn(owner, 'grant', role)).toEqual(granted)
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
    const owned = await sql`select from pg_class where relowner = ${role}::regrole`
    expect(owned).toEqual([])
    await expect(sql`create table public.mine (id int)`).rejects.toThrow('permission denied')
    await expect(sql`drop table messages`).rejects.toThrow('must be owner')
    await sql.end()
    await shared.admin.unsafe(`drop owned by ${role}`)
  } finally {
    await provider.stop()
    await shared.drop()
  }
})
