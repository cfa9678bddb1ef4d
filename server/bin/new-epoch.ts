import { randomBytes } from 'node:crypto'
import { readConfig } from '../config.ts'
import { connectOnce } from '../db/client.ts'
import { startEmbeddedPostgres } from '../db/embedded/index.ts'

/**
 * `npm run new-epoch`: to be run after a backup was restored, before the servers start. Events that
 * were numbered after the backup are gone, and new events get the same numbers. The new epoch keeps
 * clients from taking the new events for those that they have already seen.
 */
async function startEpoch() {
  const { databaseUrl, dataDir } = readConfig()
  const embedded =
    databaseUrl === undefined
      ? await startEmbeddedPostgres({ dataDir, onNotice: (line) => console.log(line) })
      : undefined
  const db = connectOnce(databaseUrl ?? embedded?.url ?? '')
  try {
    const epoch = randomBytes(8).toString('hex')
    await db`
      insert into service (key, value)
      values ('epoch', ${epoch})
      on conflict (key) do update set value = excluded.value`
    console.log(`New event epoch: ${epoch}`)
  } finally {
    await db.end({ timeout: 1 })
    await embedded?.stop()
  }
}

startEpoch().catch((error) => {
  console.error(`The event epoch was not changed: ${error.message || error.code}`)
  process.exitCode = 1
})
