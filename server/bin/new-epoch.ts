import { randomBytes } from 'node:crypto'
import { readConfig } from '../config.ts'
import { connectOnce } from '../db/client.ts'
import { startEmbeddedPostgres } from '../db/embedded/index.ts'

/**
 * Run after a backup was restored, before the servers start: events that were numbered after the backup are gone, and
 * their numbers come again. Under a new epoch nobody takes the new ones for those already seen. DESIGN.md §3.
 */
async function beginEpoch() {
  const { databaseUrl, dataDir } = readConfig()
  const embedded =
    databaseUrl === undefined
      ? await startEmbeddedPostgres({ dataDir, onNotice: (line) => console.log(line) })
      : undefined
  const db = connectOnce(databaseUrl ?? embedded?.url ?? '')
  try {
    const epoch = randomBytes(8).toString('hex')
    await db`insert into service (key, value) values ('epoch', ${epoch}) on conflict (key) do update set value = excluded.value`
    console.log(`Events are numbered anew, in epoch ${epoch}`)
  } finally {
    await db.end({ timeout: 1 })
    await embedded?.stop()
  }
}

beginEpoch().catch((error) => {
  console.error(`The epoch is as it was: ${error.message || error.code}`)
  process.exitCode = 1
})
