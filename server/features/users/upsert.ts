import type { UserInput } from '@parley/contract'
import { countActive, isToday } from '../../core/active-users.ts'
import type { WriteContext } from '../../core/context.ts'
import { RequiresFirstError } from '../../core/operation.ts'
import { tokenRevoked } from '../../core/refusals.ts'
import type { Tx } from '../../db/client.ts'
import { jsonOf } from '../../db/sql.ts'
import { profileVersion, publicColumns } from './view.ts'

/** The fields to set of a user, and whether this shows that the user is active. */
type UserDraft = UserInput & { isActive?: true }
type UpsertedUser = {
  id: string
  name: string
  image: string | null
  email: string | null
  custom: Record<string, unknown>
  tokenGeneration: number
  isNew: boolean
  /** Whether they were there when this began. */
  wasKnown: boolean
  hasProfileChanged: boolean
  /** Grows with each change of the name or image. */
  profileVersion: number
  /** Whether they have been active today before this. */
  wasActive: boolean
  /** The push provider gets users once they have been active, and the changes after that. */
  needsProviderSync: boolean
}
type UpsertContext = Pick<
  WriteContext,
  'db' | 'caller' | 'queueWrite' | 'services' | 'enqueue' | 'afterCommit'
>

/**
 * Creates and updates users in one statement, in the order of their ids so that two of these never
 * wait for each other. What it answers about a single user is true even if others have changed them
 * since it began. Absent fields keep their value, `null` clears. The id of a deleted user makes a
 * new one, once the old one is erased; never that of the caller, who was deleted meanwhile.
 */
export async function upsertUsers(
  { db, caller, queueWrite, services, enqueue, afterCommit }: UpsertContext,
  appId: string,
  drafts: UserDraft[],
): Promise<UpsertedUser[]> {
  // Where an id is given more than once, the last draft counts.
  const draftById = Object.fromEntries(drafts.map((draft) => [draft.id, draft]))
  const upserted = await upsert(db, appId, draftById)
  const changed = upserted.filter(({ hasProfileChanged }) => hasProfileChanged)
  afterCommit(() => {
    for (const { id, name, image, profileVersion: version } of changed) {
      services.publisher.broadcast({ kind: 'profile', appId, user: { id, name, image }, version })
    }
  })
  const firstToday = upserted.filter((user) => draftById[user.id]?.isActive && !user.wasActive)
  if (firstToday.length > 0) {
    queueWrite(
      countActive(db, db`select ${appId}::uuid as app_id, ${firstToday.length}::int as count`),
    )
  }
  const upsertedIds = new Set(upserted.map(({ id }) => id))
  const pending = Object.keys(draftById).filter((id) => !upsertedIds.has(id))
  if ('userId' in caller && upserted.some(({ id, isNew }) => isNew && id === caller.userId))
    throw tokenRevoked()
  // Others have made them since this began: only when repeated does it know what it changes.
  if (upserted.some(({ isNew, wasKnown }) => !isNew && !wasKnown))
    throw new RequiresFirstError(async () => {})
  if (pending.length > 0) {
    throw new RequiresFirstError((tools) =>
      services.erasure.erase({ appId, userIds: pending }, tools),
    )
  }
  for (const { id, needsProviderSync } of upserted) {
    if (needsProviderSync) enqueue('subscriber', { userId: id })
  }
  return upserted
}

/** Leaves out deleted users who are not fully erased. */
function upsert(db: Tx, appId: string, draftById: Record<string, UserDraft>) {
  const replaces = (field: keyof UserDraft) =>
    db`(u.deleted_at is not null or (select drafts from given) -> u.id ? ${field})`
  // By an array of keys: no index can look up the keys of a JSON object.
  const ids = Object.keys(draftById)
  // With several users, existing ones would be locked before new ones are made: out of order.
  const lock = ids.length === 1 ? db`for no key update` : db``
  return db<UpsertedUser[]>`
    with given as (
      select ${jsonOf(db, draftById)}::jsonb as drafts
    ),
    before as (
      select existing.*
      from unnest(${ids}::text[]) as given_id
      cross join lateral (
        select *
        from users
        where app_id = ${appId}
          and id = given_id
          and deleted_at is null
        limit 1
        ${lock}
      ) existing
    )
    insert into users as u (
      app_id, id,
      name, email, image,
      custom,
      last_active_at
    )
    select
      ${appId}, key,
      value ->> 'name', value ->> 'email', value ->> 'image',
      coalesce(nullif(value -> 'custom', 'null'), '{}'),
      case when value ? 'isActive' then now() end
    from given
    cross join jsonb_each(drafts)
    left join before on before.id = key -- so that it is locked before it is written
    order by key
    on conflict (app_id, id) do update set
      name = case when ${replaces('name')} then excluded.name else u.name end,
      email = case when ${replaces('email')} then excluded.email else u.email end,
      image = case when ${replaces('image')} then excluded.image else u.image end,
      custom = case when ${replaces('custom')} then excluded.custom else u.custom end,
      last_active_at = coalesce(excluded.last_active_at, u.last_active_at),
      created_at = case when u.deleted_at is null then u.created_at else now() end,
      updated_at = case when u.deleted_at is null then clock_timestamp() else now() end,
      profile_changed_at = case
        when u.deleted_at is null
          and (
            (${replaces('name')} and coalesce(excluded.name, u.id) <> u.display_name)
            or (${replaces('image')} and excluded.image is distinct from u.image)
          )
        then greatest(clock_timestamp(), u.profile_changed_at + interval '1 microsecond')
        else u.profile_changed_at
      end,
      reused_at = case when u.deleted_at is null then u.reused_at else now() end,
      deleted_at = null,
      forgotten_at = null
    where u.deleted_at is null
      or u.forgotten_at is not null
    returning
      u.id, ${publicColumns(db)}, u.email, u.custom, u.token_generation,
      u.created_at = u.updated_at as is_new,
      exists (select from before where before.id = u.id) as was_known,
      exists (
        select
        from before
        where before.id = u.id
          and ${isToday(db, db`before.last_active_at`)}
      ) as was_active,
      exists (
        select
        from before
        where before.id = u.id
          and (before.display_name, before.image) is distinct from (u.display_name, u.image)
      ) as has_profile_changed,
      ${profileVersion(db)} as profile_version,
      u.last_active_at is not null
        and not exists (
          select
          from before
          where before.id = u.id
            and before.last_active_at is not null
            and (before.name, before.email, before.image)
              is not distinct from (u.name, u.email, u.image)
        ) as needs_provider_sync`
}
