import { sha256 } from '../core/hash.ts'
import type { Db } from '../db/client.ts'
import { inSchema, locks } from '../db/locks.ts'
import { transaction } from '../db/transaction.ts'
import { createApp } from '../features/apps/create.ts'

type DemoAppOptions = {
  apiKey: string
  /** DEMO_APP=yes was set: the demo app is made even if there are other apps. */
  isAsked: boolean
}

export const NO_DEMO_APP =
  'This database has apps already, so no demo app was added, and there is no playground. ' +
  'DEMO_APP=yes adds one. A service that others use needs NODE_ENV=production.'

/**
 * Creates an app to try things out with, whose key stays the same across restarts. Answers whether
 * there is one. A database with other apps may be that of a service: it is left as it is. The lock
 * lets two nodes that start at once create only one.
 */
export const ensureDemoApp = (db: Db, { apiKey, isAsked }: DemoAppOptions) =>
  db.use((db) =>
    transaction(db, async (tx) => {
      await tx`select pg_advisory_xact_lock(${locks.demoApp}, ${inSchema(tx)})`
      const [found] = await tx<{ hasDemo: boolean; hasApps: boolean }[]>`
        select
          exists (
            select
            from api_keys ak
            where ak.hash = ${sha256(apiKey)}
          ) as has_demo,
          exists (select from apps) as has_apps`
      const isToBeAdded = !found?.hasDemo && (isAsked || !found?.hasApps)
      if (isToBeAdded) await createApp(tx, 'Demo', apiKey)
      return isToBeAdded || found?.hasDemo === true
    }),
  )
