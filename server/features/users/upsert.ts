import type { UserRow } from '@parley/contract'
import type { WriteContext } from '../../core/context.ts'
import { RequiresFirstError } from '../../core/operation.ts'

/** What is said of a user, and whether it is a sign of life. */
export type UserDraft = UserRow & { isActive?: true }
export type UpsertedUser = {
  id: string
  name: string
  image: string | null
  email: string | null
  custom: Record<string, unknown>
  tokenGeneration: number
  isNew: boolean
  hasNewFace: boolean
  /** Whether the push provider is to hear of it: at the first sign of life, and of changes after that. */
  isSubscriberNews: boolean
}

/**
 * Creates and updates users in one statement, in the order of their ids so that two of these never wait for each other.
 * Absent fields keep their value, `null` clears. The id of a deleted user makes a new one, once the old is forgotten.
 */
export async function upsertUsers(
  {
    db,
    services,
    enqueue,
    afterCommit,
  }: Pick<WriteContext, 'db' | 'services' | 'enqueue' | 'afterCommit'>,
  appId: string,
  drafts: UserDraft[],
): Promise<UpsertedUser[]> {
  const byId = Object.fromEntries(drafts.map((draft) => [draft.id, draft]))
  const isGiven = (field: keyof UserDraft) =>
    db`(u.deleted_at is not null or (select rows from given) -> u.id ? ${field})`
  const upserted = await db<UpsertedUser[]>`
    with given as (select ${db.json(byId as never)}::jsonb as rows), before as (
      select users.* from users, given where app_id = ${appId} and given.rows ? id and deleted_at is null
    )
    insert into users as u (app_id, id, name, email, image, custom, last_active_at)
    select ${appId}, key, value ->> 'name', value ->> 'email', value ->> 'image', coalesce(nullif(value -> 'custom', 'null'), '{}'),
      case when value ? 'isActive' then now() end
    from given, jsonb_each(rows) order by key
    on conflict (app_id, id) do update set
      name = case when ${isGiven('name')} then excluded.name else u.name end,
      email = case when ${isGiven('email')} then excluded.email else u.email end,
      image = case when ${isGiven('image')} then excluded.image else u.image end,
      custom = case when ${isGiven('custom')} then excluded.custom else u.custom end,
      last_active_at = coalesce(excluded.last_active_at, u.last_active_at),
      created_at = case when u.deleted_at is null then u.created_at else now() end,
      updated_at = case when u.deleted_at is null then clock_timestamp() else now() end,
      deleted_at = null, forgotten_at = null
    where u.deleted_at is null or u.forgotten_at is not null
    returning id, display_name as name, image, email, custom, token_generation, created_at = updated_at as is_new,
      exists (select from before b where b.id = u.id and (b.display_name, b.image) is distinct from (u.display_name, u.image)) as has_new_face,
      u.last_active_at is not null and not exists (
        select from before b where b.id = u.id and b.last_active_at is not null and (b.name, b.email, b.image) is not distinct from (u.name, u.email, u.image)
      ) as is_subscriber_news`
  const changed = upserted.filter(({ hasNewFace }) => hasNewFace)
  afterCommit(() => {
    for (const { id, name, image } of changed)
      services.publisher.broadcast({ kind: 'profile', appId, user: { id, name, image } })
  })
  const done = new Set(upserted.map(({ id }) => id))
  const waiting = Object.keys(byId).filter((id) => !done.has(id))
  if (waiting.length > 0)
    throw new RequiresFirstError(({ until }) =>
      services.erasure.erase({ appId, userIds: waiting }, until),
    )
  for (const { id, isSubscriberNews } of upserted)
    if (isSubscriberNews) enqueue('subscriber', { userId: id })
  return upserted
}
