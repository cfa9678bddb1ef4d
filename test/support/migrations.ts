import { readFileSync } from 'node:fs'
import { connectOnce } from '@parley/server/db/client'
import { inject, onTestFinished } from 'vitest'
import { databaseUrl } from './postgres.ts'

let made = 0
/** A database without tables, until the test ends. */
export async function createEmptyDatabase() {
  const server = inject('databaseUrl')
  const name = `${inject('template')}_${process.pid}_empty_${++made}`
  const admin = connectOnce(server)
  await admin.unsafe(`create database ${name}`)
  onTestFinished(async () => {
    await admin.unsafe(`drop database if exists ${name} with (force)`)
    await admin.end()
  })
  return databaseUrl(server, name)
}

/** Applies the migrations up to this one, and notes them where the migrator looks. */
export async function migrateUpTo(url: string, last: string) {
  const read = (file: string) =>
    readFileSync(new URL(`../../server/db/migrations/${file}`, import.meta.url), 'utf8')
  const journal: { entries: { tag: string; when: number }[] } = JSON.parse(
    read('meta/_journal.json'),
  )
  const end = journal.entries.findIndex(({ tag }) => tag === last) + 1
  const sql = connectOnce(url)
  await sql`create schema drizzle`
  await sql`
    create table drizzle.__drizzle_migrations
      (id serial primary key, hash text not null, created_at bigint)`
  for (const { tag, when } of journal.entries.slice(0, end)) {
    for (const statement of read(`${tag}.sql`).split('--> statement-breakpoint'))
      await sql.unsafe(statement)
    await sql`
      insert into drizzle.__drizzle_migrations (hash, created_at)
      values (${tag}, ${when})`
  }
  await sql.end()
}
