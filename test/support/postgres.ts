import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectOnce } from '@parley/server/db/client'
import { startEmbeddedPostgres } from '@parley/server/db/embedded/index'
import { migrate } from '@parley/server/db/migrate'
import type { TestProject } from 'vitest/node'
import { createDataFolder } from './folders.ts'
import { changesOfTwin } from './twin/index.ts'
import { installTwin } from './twin/install.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Administers the PostgreSQL of this run. */
    databaseUrl: string
    /** A migrated database with the twin, which every test file clones. */
    template: string
    /**
     * A folder for the statements that the run sends, and those that the source declares. That of
     * `STATEMENTS_FOLDER` is kept.
     */
    statements: string
  }
}

/**
 * One PostgreSQL for the whole run (the one of DATABASE_URL if that is set), and a template
 * database to clone.
 */
export async function providePostgres(project: TestProject) {
  const server = process.env.DATABASE_URL
    ? { url: process.env.DATABASE_URL, stop: async () => {} }
    : await startTemporary()
  const template = `parley_template_${process.pid}`
  const admin = connectOnce(server.url)
  await admin.unsafe(`create database ${template}`)
  await migrate(databaseUrl(server.url, template))
  await installTwin(databaseUrl(server.url, template))
  project.provide('databaseUrl', server.url)
  project.provide('template', template)
  const kept = process.env.STATEMENTS_FOLDER
  const statements = kept ?? mkdtempSync(join(tmpdir(), 'parley-statements-'))
  project.provide('statements', statements)
  return async () => {
    if (kept === undefined) rmSync(statements, { recursive: true })
    // The databases of servers that files shared until the end, and that no file has stopped.
    const left = await admin<{ datname: string }[]>`
      select datname
      from pg_database
      where starts_with(datname, ${template})`
    try {
      for (const { datname } of left) await expectUntouched(databaseUrl(server.url, datname))
    } finally {
      for (const { datname } of left)
        await admin.unsafe(`drop database if exists ${datname} with (force)`)
      await admin.end()
      await server.stop()
    }
  }
}

async function expectUntouched(url: string) {
  const db = connectOnce(url)
  try {
    const changes = await changesOfTwin(db)
    if (changes.length === 0) return
    process.exitCode = 1 // that of a run whose tests have passed
    throw new Error(`changed rows of another app with the same user ids: ${changes.join('\n')}`)
  } finally {
    await db.end()
  }
}

/** A PostgreSQL that keeps nothing, with these settings. */
export async function startTemporary(settings: Record<string, string> = {}) {
  const dataDir = createDataFolder('test')
  const server = await startEmbeddedPostgres({
    dataDir,
    settings: {
      fsync: 'off',
      synchronous_commit: 'off',
      full_page_writes: 'off',
      max_wal_size: '256MB',
      // Files that run the tests of many others keep the pools of all their worlds.
      max_connections: '500',
      ...settings,
    },
  })
  return {
    url: server.url,
    stop: async () => {
      await server.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** The address of another database on the same server. */
export function databaseUrl(serverUrl: string, database: string) {
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  return url.href
}
