import { randomBytes } from 'node:crypto'
import { readConfig } from '../config.ts'
import { connectOnce } from '../db/client.ts'
import { errorMessage } from '../lifecycle.ts'
import { withDatabase } from './open.ts'

/**
 * `parley new-epoch`: to be run after a backup was restored, before the servers start. Events that
 * were numbered after the backup are gone, and new events get the same numbers. The new epoch keeps
 * clients from taking the new events for those that they have already seen.
 */
export async function startEpoch() {
  try {
    await withDatabase(readConfig(), storeEpoch)
  } catch (error) {
    throw new Error(`The event epoch was not changed: ${errorMessage(error)}`)
  }
}

async function storeEpoch(url: string) {
  const db = connectOnce(url)
  try {
    const epoch = randomBytes(8).toString('hex')
    await db`
      insert into service (key, value)
      values ('epoch', ${epoch})
      on conflict (key) do update set value = excluded.value`
    console.log(`New event epoch: ${epoch}`)
  } finally {
    await db.end({ timeout: 1 })
  }
}
