import { contract, limits } from '@parley/contract'
import { implement, type Implements } from '../implement.ts'

const create = implement(contract.tokens.create, async ({ db, caller: { appId }, services: { tokens, wsUrl, outlet }, afterCommit }, { userId, admin = false, ...profile }) => {
  const { name, email, image, custom } = profile
  const given = (value: unknown) => value !== undefined
  const [user] = await db<{ name: string; email: string | null; image: string | null; tokenGeneration: number; hasNewFace: boolean }[]>`
    with before as (select display_name, image from users where app_id = ${appId} and id = ${userId})
    insert into users as u (app_id, id, name, email, image, custom, last_active_at)
    values (${appId}, ${userId}, ${name ?? null}, ${email ?? null}, ${image ?? null}, ${db.json((custom ?? {}) as never)}, now())
    on conflict (app_id, id) do update set
      name = case when ${given(name)} then excluded.name when u.deleted_at is null then u.name end,
      email = case when ${given(email)} then excluded.email when u.deleted_at is null then u.email end,
      image = case when ${given(image)} then excluded.image when u.deleted_at is null then u.image end,
      custom = case when ${given(custom)} then excluded.custom when u.deleted_at is null then u.custom else '{}' end,
      created_at = case when u.deleted_at is null then u.created_at else now() end,
      updated_at = now(), last_active_at = now(), deleted_at = null
    returning display_name as name, email, image, token_generation,
      exists (select from before where (display_name, image) is distinct from (u.display_name, u.image)) as has_new_face`
  if (!user) throw new Error('the upsert of a user answered no row')
  if (user.hasNewFace) afterCommit(() => outlet.signal({ kind: 'profile', appId, user: { id: userId, name: user.name, image: user.image } }))
  const claims = { appId, userId, generation: user.tokenGeneration, admin }
  const [token, wsToken] = await Promise.all([tokens.sign('api', claims), tokens.sign('ws', claims)])
  return {
    token,
    wsToken,
    user: { id: userId, name: user.name, image: user.image, ...(user.email === null ? {} : { email: user.email }) },
    expiresIn: limits.tokenLifetimeSeconds,
    appId,
    wsUrl,
  }
})

export const tokens = { create } satisfies Implements<'tokens'>
