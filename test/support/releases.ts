import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectOnce } from '@parley/server/db/client'
import { onTestFinished } from 'vitest'
import { createEmptyDatabase, migrateUpTo } from './migrations.ts'

/**
 * Of each release there is a folder, which `npm run release:folder` makes: the rows that a server
 * of that version has written for a few users, every statement that its own tests sent, and the
 * server. `last` is the last migration of its schema, `rev` that of the first message. With
 * `isFenced` its servers are stopped before the upgrade, as its changelog says, and there is none
 * in the folder.
 */
export type Release = (typeof releases)[number]
export const releases = [
  { version: '0.1.0', last: '0004_indexes', rev: 58, isFenced: true },
  { version: '0.2.0', last: '0037_replies', rev: 56, isFenced: false },
]

export const releasesFolder = join(import.meta.dirname, '../releases')
export const readRelease = (version: string, file: string) =>
  readFileSync(join(releasesFolder, version, file), 'utf8').split('--> statement-breakpoint\n')

/** A database as a server of that version has left it. */
export async function createReleased({ version, last }: Release) {
  const url = await createEmptyDatabase()
  await migrateUpTo(url, last)
  const sql = connectOnce(url)
  onTestFinished(() => sql.end())
  // Each database is made with an epoch of its own.
  await sql`delete from service`
  for (const statement of readRelease(version, 'data.sql')) await sql.unsafe(statement)
  return { url, sql }
}
