import { appTables } from '@parley/server/commands/app-file/tables'
import type { User, World } from '../support/world.ts'

/** Leaves something of an app in each of its tables. */
export async function populate({ users: addUsers, backend, operator, appId, db }: World) {
  const [ana, ben, gone] = await addUsers('ana', 'ben', 'gone')
  const { id: workspaceId } = await ana.workspaces.create({ name: 'Acme', type: 'team' })
  const { token } = await ana.invites.create({ workspaceId, maxUses: 3 })
  await ben.invites.accept({ token })
  const { id: endingId } = await ana.invites.create({ workspaceId })
  await db`
    update workspace_invites
    set expires_at = now() + interval '30 minutes'
    where id = ${endingId}`
  const memberIds = ['ben', 'gone']
  const group = { type: 'group', name: 'Talk', memberIds, custom: { a: [1, null] } } as const
  const { id: channelId } = await ana.channels.create(group)
  const send = (user: User, text: string, more = {}) =>
    user.messages.send({ channelId, text, ...more })
  const root = await send(ana, 'Hello "\\ @ben\n👍', { clientId: 'c1', custom: { n: 1.5 } })
  await send(ben, 'A reply', { parentId: root.id })
  const late = await send(ana, 'Nothing to see')
  await ana.messages.delete({ channelId, messageId: late.id })
  await ben.reactions.add({ channelId, messageId: root.id, emoji: '👍' })
  await ana.pins.pin({ channelId, messageId: root.id })
  await ben.reads.mark({ channelId })
  await ana.channels.updateSettings({ channelId, starred: true })
  await send(gone, 'Words of a user who is deleted')
  const { id: growingId } = await send(ana, 'So', { streaming: true })
  await ana.streams.append({ channelId, messageId: growingId, at: 2, text: ' far, @ben' })
  const left = await ben.channels.create({ type: 'group', name: 'Left', memberIds: ['ana'] })
  await ana.members.leave({ channelId: left.id })
  const { id: deletedId } = await ana.channels.create({ type: 'group', name: 'Deleted' })
  await ana.messages.send({ channelId: deletedId, text: 'Gone with its channel' })
  await ana.channels.delete({ channelId: deletedId })
  await ana.preferences.update({ mentions: false })
  await ana.devices.create({ platform: 'ios', provider: 'apns', token: 'a-push-token' })
  await backend.webhooks.create({ url: 'https://8.8.8.8/hook', events: ['message.new'] })
  // The hook is set last, because it would check what these users send.
  await backend.hooks.setBeforeSend({ url: 'https://8.8.8.8/hook', onError: 'allow' })
  await operator.apps.update({ appId, settings: { messageRetentionDays: 400 } })
  // A server of an older version leaves such a row of an imported channel that it has shown.
  await db`
    insert into imported_rows (app_id, record, key, channel_id, line, "row")
    values (${appId}, 'channel', ${channelId}, ${channelId}, 1, '{}')`
  // A reaction to a deleted message: where many users reacted, the cleanup removes them later.
  await db`
    insert into reactions (app_id, message_id, emoji, user_id)
    values (${appId}, ${late.id}, '👎', 'ben')`
  await db`
    update users
    set deleted_at = now()
    where app_id = ${appId}
      and id = 'gone'`
  return { ana, ben, channelId, growingId, deletedId, endingId }
}

type Rows = Record<string, unknown[]>
/** Every row of an app in the tables that have its id, except the times of uses. */
export async function rowsOf({ db }: World, appId: string): Promise<Rows> {
  const rows: Rows = {}
  for (const { name, numbered } of appTables) {
    const columns = await db`
      select attname
      from pg_attribute
      where attrelid = ${name}::regclass
        and attname in ('app_id', 'channel_id')`
    if (columns.length === 0) continue
    const found = await db.unsafe(
      `select to_jsonb(t) - array['${numbered ?? ''}', 'last_used_at', 'last_active_at'] as row
       from ${name} t
       where app_id = '${appId}'`,
    )
    rows[name] = found.map(({ row }) => JSON.stringify(row)).sort()
  }
  return rows
}

/** The rows that mention none of these texts. */
export const without = (rows: Rows, texts: string[]) =>
  Object.fromEntries(
    Object.entries(rows).map(([name, some]) => [
      name,
      some.filter((row) => !texts.some((text) => String(row).includes(text))),
    ]),
  )
