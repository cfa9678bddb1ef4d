import { randomUUID } from 'node:crypto'
import type { World } from './world.ts'

/** A workspace with these members by role, put straight into the database. */
export async function insertWorkspace(
  { db, appId }: Pick<World, 'db' | 'appId'>,
  roles: Record<string, string>,
) {
  const id = randomUUID()
  const [createdBy = ''] = Object.keys(roles)
  await db`insert into workspaces (id, app_id, name, type, created_by) values (${id}, ${appId}, 'Acme', 'team', ${createdBy})`
  for (const [userId, role] of Object.entries(roles))
    await db`insert into workspace_members (app_id, workspace_id, user_id, role) values (${appId}, ${id}, ${userId}, ${role})`
  return id
}

/** Makes users members of a channel, straight in the database. */
export async function insertMembers(
  { db, appId }: Pick<World, 'db' | 'appId'>,
  channelId: string,
  userIds: string[],
) {
  await db`insert into members (app_id, channel_id, user_id, role) select ${appId}, ${channelId}, id, 'member' from unnest(${userIds}::text[]) id`
}

/** Users `<prefix>1` … `<prefix>n`, put straight into the database: a crowd that says nothing. */
export async function insertCrowd(
  { db, appId }: Pick<World, 'db' | 'appId'>,
  prefix: string,
  size: number,
) {
  const ids = Array.from({ length: size }, (_, index) => `${prefix}${index + 1}`)
  await db`insert into users (app_id, id) select ${appId}, * from unnest(${ids}::text[])`
  return ids
}
