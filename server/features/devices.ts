import { contract, type Input, limits } from '@parley/contract'
import { v7 as uuidv7 } from 'uuid'
import type { WriteContext } from '../core/context.ts'
import { fail } from '../core/errors.ts'
import { type Implements, implement } from '../core/operation.ts'
import type { DeviceRow } from '../db/rows.ts'

const create = implement(contract.devices.create, async (ctx, device) => {
  await lockOwner(ctx)
  const known = await selectKnown(ctx, device)
  const { appId, userId } = ctx.caller
  // The same device of the same user keeps its row; else the row of the token moves, from whomever it was.
  const same = known.find(({ isSameDevice }) => isSameDevice) ?? known[0]
  const isOwn = same?.userId === userId
  if (!isOwn && (await countDevices(ctx)) >= limits.devices)
    return fail('VALIDATION_ERROR', `a user has at most ${limits.devices} devices`)
  const others = known.filter(({ id }) => id !== same?.id).map(({ id }) => id)
  if (others.length > 0) await ctx.db`delete from devices where id = any(${others}::uuid[])`
  const { platform, provider, token, deviceId = null, appVersion = null } = device
  const [stored] = await ctx.db<
    { id: string; platform: typeof platform; provider: typeof provider; createdAt: string }[]
  >`
    insert into devices as d (id, app_id, user_id, platform, provider, token, device_id, app_version)
    values (${same?.id ?? uuidv7()}, ${appId}, ${userId}, ${platform}, ${provider}, ${token}, ${deviceId}, ${appVersion})
    on conflict (${same ? ctx.db`id` : ctx.db`app_id, token`}) do update set
      user_id = excluded.user_id, platform = excluded.platform, provider = excluded.provider, token = excluded.token,
      device_id = case when d.user_id = excluded.user_id then coalesce(excluded.device_id, d.device_id) else excluded.device_id end,
      app_version = excluded.app_version, updated_at = clock_timestamp()
    returning id, platform, provider, created_at`
  if (!stored) throw new Error('the upsert of a device answered no row')
  tellProvider(ctx, [{ userId, provider }, ...known])
  return stored
})

const remove = implement(contract.devices.delete, async (ctx, { deviceId }) => {
  const { appId, userId } = ctx.caller
  const removed = await ctx.db<Registration[]>`
    delete from devices where app_id = ${appId} and user_id = ${userId} and (id::text = ${deviceId.toLowerCase()} or device_id = ${deviceId}) returning user_id, provider`
  tellProvider(ctx, removed)
  return removed.count === 0 ? fail('NOT_FOUND', 'Device not found') : { success: true }
})

export const devices = { create, delete: remove } satisfies Implements<'devices'>

type Registration = Pick<DeviceRow, 'userId' | 'provider'>

/** Whose tokens of which kind may have changed. */
function tellProvider({ enqueue }: Pick<WriteContext, 'enqueue'>, registrations: Registration[]) {
  const concerned = new Map(
    registrations.map(({ userId, provider }) => [`${provider} ${userId}`, { userId, provider }]),
  )
  for (const payload of concerned.values()) enqueue('device', payload)
}

/** One registration of a user at a time, so that the limit holds, and none of a deleted user. */
async function lockOwner({ db, caller: { appId, userId } }: WriteContext<'user'>) {
  const [owner] =
    await db`select from users where app_id = ${appId} and id = ${userId} and deleted_at is null for no key update`
  return owner ?? fail('INVALID_TOKEN', 'The token has been revoked')
}

/** The rows that this registration is about: of the same token, and of the same device of the same user. Locked, in order. */
function selectKnown(
  { db, caller: { appId, userId } }: WriteContext<'user'>,
  { token, deviceId }: Input<typeof contract.devices.create>,
) {
  const isSameDevice =
    deviceId === undefined
      ? db`false`
      : db`(user_id = ${userId} and coalesce(device_id = ${deviceId}, false))`
  return db<(Registration & { id: string; isSameDevice: boolean })[]>`
    select id, user_id, provider, ${isSameDevice} as is_same_device from devices
    where app_id = ${appId} and (token = ${token} or ${isSameDevice}) order by id for update`
}

async function countDevices({ db, caller: { appId, userId } }: WriteContext<'user'>) {
  const [row] = await db<
    { count: number }[]
  >`select count(*)::int from devices where app_id = ${appId} and user_id = ${userId}`
  return row?.count ?? 0
}
