import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '@parley/server/commands/index'
import { afterAll, vi } from 'vitest'
import { withRecordedDatabase } from '../support/recorded-database.ts'

/** How far a command has come, which it says once a second: on a busy machine more often. */
const PROGRESS = /^\S+ (rows|lines), \S+ a second/

/**
 * Runs a command of `parley` on a database, in this process: its exit code and its lines, without
 * those of its progress.
 */
export const parleyOn = (databaseUrl: string, ...args: string[]) =>
  withRecordedDatabase(databaseUrl, (url) => parleyAt(url, args))

async function parleyAt(url: string, args: string[]) {
  const lines: string[] = []
  vi.stubEnv('DATABASE_URL', url)
  const spies = (['log', 'error'] as const).map((method) =>
    vi.spyOn(console, method).mockImplementation((line: string) => {
      if (!PROGRESS.test(line)) lines.push(line)
    }),
  )
  try {
    const code = await runCommand(args)
    return { code, output: lines.filter((line) => !PROGRESS.test(line)).join('\n') }
  } finally {
    for (const spy of spies) spy.mockRestore()
    vi.unstubAllEnvs()
  }
}

/** A folder for the files of a test file. */
export function useFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'parley-app-files-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const path = (name: string) => join(folder, name)
  return {
    path,
    /** The names of the files that begin with `start`. */
    names: (start: string) => readdirSync(folder).filter((name) => name.startsWith(start)),
    read: (name: string) => readFileSync(path(name), 'utf8'),
    /** Makes another file by changing the text of one. */
    copy: (from: string, to: string, change: (text: string) => string) => {
      writeFileSync(path(to), change(readFileSync(path(from), 'utf8')))
      return path(to)
    },
  }
}
