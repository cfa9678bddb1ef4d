import { rmSync } from 'node:fs'
import { createApi } from '@parley/client/api'
import { afterAll, expect, test } from 'vitest'
import { createDataFolder } from './support/folders.ts'
import { useStagingWorld } from './support/jobs.ts'
import { forbidden, invalid, refusal } from './support/refusal.ts'
import { production, useChildren } from './support/start.ts'
import { until } from './support/until.ts'

/** Tests of settings in real processes, which hand them to their parts. */

const directory = createDataFolder('process-settings')
const staging = useStagingWorld()
const children = useChildren()

afterAll(() => rmSync(directory, { recursive: true, force: true }))

const settings = () => {
  const { world, provider } = staging.current()
  return {
    DATABASE_URL: world.databaseUrl,
    PURGE_EMPTY_AFTER_DAYS: '7',
    PUSH_SECRET_KEY: 'key',
    PUSH_API_URL: provider.settings.apiUrl,
  }
}

/** Leaves an old entry of the audit log, and a channel that all have left. */
async function leaveOld() {
  const { world, ana } = staging.current()
  const { db, appId } = world
  const { id } = await ana.channels.create({ type: 'group', name: 'Left' })
  await ana.members.leave({ channelId: id })
  await db`
    update channels
    set last_activity_at = now() - interval '8 days', updated_at = now() - interval '8 days'
    where id = ${id}`
  await db`
    insert into audit (app_id, actor, operation, target, created_at)
    values (${appId}, 'operator', 'apps.update', '{}', now() - interval '366 days')`
  const left = () => db`
    select 'channel' as kind
    from channels
    where id = ${id}
      and deleted_at is null
    union all
    select 'entry' as kind
    from audit
    where created_at < now() - interval '365 days'`
  expect(await left()).toHaveLength(2)
  return { untilGone: () => until(async () => (await left()).length === 0) }
}

test('a server without jobs cleans up, and its settings apply', async () => {
  const { provider } = staging.current()
  const old = await leaveOld()
  const node = children.start(
    {
      ...production,
      ...settings(),
      JOBS: 'off',
      INVITE_URL: 'https://app.example.com/join?invite={token}',
    },
    directory,
  )
  const url = await node.address()
  await old.untilGone()
  const operator = createApi({ url, adminKey: production.ADMIN_API_KEY })
  const { apiKey } = await operator.apps.create({ name: 'Settings' })
  const backend = createApi({ url, apiKey })
  const { token } = await backend.tokens.create({ userId: 'ana' })
  const ana = createApi({ url, token })

  const { id: workspaceId } = await ana.workspaces.create({ name: 'Acme', type: 'team' })
  const invite = await ana.invites.create({ workspaceId })
  expect(invite.inviteUrl).toBe(`https://app.example.com/join?invite=${invite.token}`)
  expect(await refusal(ana.users.delete({ userId: 'ben' }))).toEqual(forbidden)
  const hook = { url: 'http://example.com/hook', events: ['*' as const] }
  expect(await refusal(backend.webhooks.create(hook))).toEqual(invalid)
  provider.forget()
  await ana.preferences.get()
  expect(provider.requests()).toMatchObject([{ path: '/v2/subscribers/ana/preferences' }])
})

test('a separate worker cleans up, and its settings apply', async () => {
  const { world, provider } = staging.current()
  const { id: appId, apiKey } = await world.operator.apps.create({ name: 'Gone' })
  await world.api({ apiKey }).tokens.create({ userId: 'gone-with-its-app' })
  // The call to delete an app does this too, but then this server would purge it itself.
  await world.db`update apps set deleted_at = now() where id = ${appId}`
  const old = await leaveOld()
  staging.startWorker(settings())
  await old.untilGone()
  await until(() => {
    const calls = provider.requests().map(({ method, path }) => `${method} ${path}`)
    return calls.includes('DELETE /v2/subscribers/gone-with-its-app')
  })
})
