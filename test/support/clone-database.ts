import { connectOnce } from '@parley/server/db/client'
import { inject } from 'vitest'
import { databaseUrl } from './postgres.ts'

let clones = 0
/** A database of its own for a world: a copy of the template. */
export async function cloneDatabase() {
  const server = inject('databaseUrl')
  const name = `${inject('template')}_${process.pid}_${++clones}`
  const admin = connectOnce(server)
  // A copy of files writes no log; the checkpoint that it needs costs little without fsync.
  await admin.unsafe(`
    create database ${name}
    template ${inject('template')}
    strategy file_copy`)
  return {
    url: databaseUrl(server, name),
    isOwn: true,
    drop: async () => {
      await admin.unsafe(`drop database if exists ${name} with (force)`)
      await admin.end()
    },
  }
}
