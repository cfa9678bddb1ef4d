import { contract, type Input, limits } from '@parley/contract'
import { v7 as uuidv7 } from 'uuid'
import type { WriteContext } from '../core/context.ts'
import { ApiError } from '../core/errors.ts'
import { type Implements, implement } from '../core/operation.ts'
import { tokenRevoked } from '../core/refusals.ts'
import { locks } from '../db/locks.ts'
import type { DeviceRow } from '../db/rows.ts'

type DeviceInput = Input<typeof contract.devices.create>
type Registration = Pick<DeviceRow, 'userId' | 'provider'>
type KnownDevice = Registration & { id: string; isSameDevice: boolean }

const create = implement(contract.devices.create, async (ctx, device) => {
  await lockOwner(ctx)
  await lockToken(ctx, device)
  const known = await lockKnown(ctx, device)
  const { userId } = ctx.caller
  // The same device of the same user keeps its row. Otherwise the row with the same token is taken
  // over.
  const replaced = known.find(({ isSameDevice }) => isSameDevice) ?? known[0]
  const isOwn = replaced?.userId === userId
  if (!isOwn && (await countDevices(ctx)) >= limits.devices) {
    throw new ApiError('VALIDATION_ERROR', `A user can register at most ${limits.devices} devices`)
  }
  const others = known.filter(({ id }) => id !== replaced?.id).map(({ id }) => id)
  if (others.length > 0) {
    await ctx.db`
      delete from devices
      where id = any(${others}::uuid[])`
  }
  const stored = await upsertDevice(ctx, device, replaced?.id)
  enqueueSync(ctx, [{ userId, provider: device.provider }, ...known])
  return stored
})

const remove = implement(contract.devices.delete, async (ctx, { deviceId }) => {
  const { appId, userId } = ctx.caller
  const removed = await ctx.db<Registration[]>`
    delete from devices
    where app_id = ${appId}
      and user_id = ${userId}
      and (id::text = ${deviceId.toLowerCase()} or device_id = ${deviceId})
    returning user_id, provider`
  if (removed.count === 0) throw new ApiError('NOT_FOUND', 'Device not found')
  enqueueSync(ctx, removed)
  return { success: true }
})

export const devices = { create, delete: remove } satisfies Implements<'devices'>

type StoredDevice = Pick<DeviceRow, 'id' | 'platform' | 'provider' | 'createdAt'>

/** Stores a device in the row with id `replacedId` if it is given, else by its token. */
async function upsertDevice(
  { db, caller: { appId, userId } }: WriteContext<'user'>,
  device: DeviceInput,
  replacedId: string | undefined,
) {
  const { platform, provider, token, deviceId = null, appVersion = null } = device
  const id = replacedId ?? uuidv7()
  const conflict = replacedId === undefined ? db`app_id, token` : db`id`
  const [stored] = await db<StoredDevice[]>`
    insert into devices as d (
      id, app_id, user_id,
      platform, provider, token,
      device_id, app_version
    )
    values (
      ${id}, ${appId}, ${userId},
      ${platform}, ${provider}, ${token},
      ${deviceId}, ${appVersion}
    )
    on conflict (${conflict}) do update set
      user_id = excluded.user_id,
      platform = excluded.platform,
      provider = excluded.provider,
      token = excluded.token,
      device_id = case
        when d.user_id = excluded.user_id then coalesce(excluded.device_id, d.device_id)
        else excluded.device_id
      end,
      app_version = excluded.app_version,
      updated_at = clock_timestamp()
    returning id, platform, provider, created_at`
  if (!stored) throw new Error('the upsert of a device returned no row')
  return stored
}

/**
 * Enqueues an update of the push provider's copy, for each user and kind of token that may have
 * changed.
 */
function enqueueSync({ enqueue }: Pick<WriteContext, 'enqueue'>, changed: Registration[]) {
  const distinct = new Map(
    changed.map(({ userId, provider }) => [`${provider} ${userId}`, { userId, provider }]),
  )
  for (const payload of distinct.values()) enqueue('device', payload)
}

/**
 * Locks the user, who must exist: registrations of a user run one at a time, so the limit holds.
 */
async function lockOwner({ db, caller: { appId, userId } }: WriteContext<'user'>) {
  const [owner] = await db`
    select
    from users
    where app_id = ${appId}
      and id = ${userId}
      and deleted_at is null
    for no key update`
  if (!owner) throw tokenRevoked()
}

/** Locks a token, which may have no row yet: of users who register it at once, the last has it. */
async function lockToken({ db, caller: { appId } }: WriteContext<'user'>, { token }: DeviceInput) {
  const key = `${appId} ${token}`
  await db`select pg_advisory_xact_lock(${locks.pushToken}, hashtext(${key}))`
}

/** Locks, in order, the rows with the same token, and those of the same device of the same user. */
function lockKnown(
  { db, caller: { appId, userId } }: WriteContext<'user'>,
  { token, deviceId }: DeviceInput,
) {
  const isSameDevice =
    deviceId === undefined
      ? db`false`
      : db`(user_id = ${userId} and coalesce(device_id = ${deviceId}, false))`
  return db<KnownDevice[]>`
    select id, user_id, provider, ${isSameDevice} as is_same_device
    from devices
    where id = any(array(
        select id
        from devices
        where app_id = ${appId}
          and token = ${token}
        union all
        select id
        from devices
        where app_id = ${appId}
          and ${isSameDevice}
      ))
      and (token = ${token} or ${isSameDevice})
    order by id
    for update`
}

async function countDevices({ db, caller: { appId, userId } }: WriteContext<'user'>) {
  const [row] = await db<{ count: number }[]>`
    select count(*)::int
    from devices
    where app_id = ${appId}
      and user_id = ${userId}`
  return row?.count ?? 0
}
