import { connectOnce } from '@parley/server/db/client'
import { inject } from 'vitest'
import { databaseUrl } from './postgres.ts'
import { expectTwinUntouched } from './twin/index.ts'

let clones = 0
/** Administers the server, for all files of this worker. */
let admin: ReturnType<typeof connectOnce> | undefined

/** A database of its own: a copy of the template, whose twin must be untouched in the end. */
export async function cloneDatabase() {
  const server = inject('databaseUrl')
  const name = `${inject('template')}_${process.pid}_${++clones}`
  admin ??= connectOnce(server, { fetch_types: false })
  const connection = admin
  // A copy of files writes no log; the checkpoint that it needs costs little without fsync.
  await connection.unsafe(`
    create database ${name}
    template ${inject('template')}
    strategy file_copy`)
  const url = databaseUrl(server, name)
  return {
    url,
    drop: async () => {
      const db = connectOnce(url, { fetch_types: false })
      try {
        await expectTwinUntouched(db)
      } finally {
        await db.end()
        await connection.unsafe(`drop database if exists ${name} with (force)`)
      }
    },
  }
}
