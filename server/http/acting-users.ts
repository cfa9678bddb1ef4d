import type { Admit } from '../core/admission.ts'
import type { UserCaller } from '../core/context.ts'
import { ApiError } from '../core/errors.ts'
import type { Revocations } from '../core/revocations.ts'
import { userKey } from '../core/user-ref.ts'
import type { Db, Tx } from '../db/client.ts'
import { createLookupCache } from './lookup-cache.ts'

type ActingUsersOptions = { db: Db; admit: Admit; revocations: Revocations }
type Acting = {
  caller: UserCaller
  until: number
  /** Creates the user, as POST /tokens does. */
  create: () => Promise<unknown>
}

/** Lets a backend act as users: a user with an unknown id is created before the call. */
export function createActingUsers({ db, admit, revocations }: ActingUsersOptions) {
  const known = createLookupCache<boolean>()
  revocations.subscribe((revoked) => {
    if ('userId' in revoked) known.drop(userKey(revoked))
    if ('isClosed' in revoked) known.dropAll()
  })

  const ensure = async ({ caller, until, create }: Acting) => {
    const select = async () => {
      const users = await db.use((tx) => selectUser(tx, caller), until)
      return users.length > 0 || undefined
    }
    const isKnown = await known.load(userKey(caller), {
      inTurn: (look) => admit({ appId: caller.appId, queue: 'calls', until }, look),
      select,
    })
    if (!isKnown) await create()
  }

  /** Runs a call. If the user is deleted meanwhile, creates them again and repeats it once. */
  return async <T>(acting: Acting, run: () => Promise<T>): Promise<T> => {
    await ensure(acting)
    try {
      return await run()
    } catch (error) {
      if (!isRevoked(error)) throw error
      known.drop(userKey(acting.caller))
      await acting.create()
      return run()
    }
  }
}

const selectUser = (db: Tx, { appId, userId }: UserCaller) => db<{ id: string }[]>`
  select u.id
  from users u
  where u.app_id = ${appId}
    and u.id = ${userId}
    and u.deleted_at is null`

const isRevoked = (error: unknown) => error instanceof ApiError && error.code === 'INVALID_TOKEN'
