import { randomUUID } from 'node:crypto'
import type { World } from './world.ts'

/** Inserts a workspace with these members, by role, straight into the database. */
export async function insertWorkspace(
  { db, appId }: Pick<World, 'db' | 'appId'>,
  roles: Record<string, string>,
) {
  const id = randomUUID()
  const [createdBy = ''] = Object.keys(roles)
  await db`
    insert into workspaces (id, app_id, name, type, created_by)
    values (${id}, ${appId}, 'Acme', 'team', ${createdBy})`
  for (const [userId, role] of Object.entries(roles))
    await db`
      insert into workspace_members (app_id, workspace_id, user_id, role)
      values (${appId}, ${id}, ${userId}, ${role})`
  return id
}

/** Inserts users as members of a channel, straight into the database. */
export async function insertMembers(
  { db, appId }: Pick<World, 'db' | 'appId'>,
  channelId: string,
  userIds: string[],
) {
  await db`
    insert into members (app_id, channel_id, user_id, role)
    select ${appId}, ${channelId}, given, 'member'
    from unnest(${userIds}::text[]) given`
}

/** Inserts users `<prefix>1` … `<prefix>n` straight into the database; answers their ids. */
export async function insertUsers(
  { db, appId }: Pick<World, 'db' | 'appId'>,
  prefix: string,
  size: number,
) {
  const ids = Array.from({ length: size }, (_, index) => `${prefix}${index + 1}`)
  await db`insert into users (app_id, id) select ${appId}, * from unnest(${ids}::text[])`
  return ids
}

/** Inserts channels without members straight into the database; answers their ids. */
export async function insertChannels(
  { db, appId }: Pick<World, 'db' | 'appId'>,
  prefix: string,
  size: number,
) {
  const rows = await db<{ id: string }[]>`
    insert into channels (id, app_id, cid, type, name, created_by, client_id)
    select
      gen_random_uuid(), ${appId}, 'group:' || ${prefix} || n, 'group', 'Other', 'ana',
      ${prefix} || n
    from generate_series(1, ${size}::int) n
    returning id`
  return rows.map(({ id }) => id)
}
