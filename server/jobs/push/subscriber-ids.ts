import type { Log } from '../../core/log.ts'
import type { Db } from '../../db/client.ts'
import type { PushSettings } from './settings.ts'

/**
 * How many devices are looked at, of the first and of the last: a sample, since this runs at a
 * start.
 */
const SAMPLE = 1_000

type CheckOptions = { db: Db; push: Pick<PushSettings, 'tenantId'> | undefined; log: Log }

/**
 * Novu's rule for subscriber ids: letters, digits, `-`, `_` and `.`, or an e-mail address. Where it
 * is enforced, pushes to other ids are refused. Warns if those that we use break it.
 */
export async function checkSubscriberIds({ db, push, log }: CheckOptions) {
  if (!push) return
  const { tenantId } = push
  if (tenantId !== undefined)
    log.warn({ tenantId }, 'PUSH_TENANT_ID puts a colon into subscriber ids: Novu may refuse it')
  try {
    const userId = await selectUnusualId(db)
    if (userId !== undefined)
      log.warn({ userId }, 'user ids with unusual characters: Novu may refuse their pushes')
  } catch (error) {
    log.warn({ err: error }, "could not check user ids against Novu's rule")
  }
}

/** A user with a device whose id breaks the rule, if there is one in a sample. */
const selectUnusualId = (db: Db) =>
  db.use(async (db) => {
    const [row] = await db<{ userId: string }[]>`
      select sample.user_id
      from (
        (
          select d.user_id
          from devices d
          order by d.id
          limit ${SAMPLE}
        )
        union all
        (
          select d.user_id
          from devices d
          order by d.id desc
          limit ${SAMPLE}
        )
      ) sample
      where sample.user_id !~ '^[A-Za-z0-9_.-]+$'
        and sample.user_id !~ '^[^@\\s]+@[^@\\s]+[.][^@\\s]+$'
      limit 1`
    return row?.userId
  })
