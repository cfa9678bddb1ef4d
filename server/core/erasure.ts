import type { Db } from '../db/client.ts'

export type DeletedUsers = { appId: string; userIds: string[] }
/** The connections that an erasure may use, and until when. */
type ErasureTools = Pick<Db, 'use'> & { until: number }

/** The cleanup as operations use it: `wake` runs it soon, `erase` erases deleted users now. */
export type Erasure = {
  wake: () => void
  erase: (users: DeletedUsers, tools: ErasureTools) => Promise<void>
}
