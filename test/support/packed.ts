import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { inject, vi } from 'vitest'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the packages, once a test has asked for one of them. */
    packed: string
  }
}

const root = join(import.meta.dirname, '../..')
/** For a busy machine: everything is built first. */
const patient = { timeout: 600_000, interval: 100 }
const run = promisify(execFile)

export type Packed = { name: string; filename: string; files: { path: string }[] }

/** A folder for the packages of this run. That of `PACKED_FOLDER` is kept, for a later run. */
export function providePacked(project: TestProject) {
  const kept = process.env.PACKED_FOLDER
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'parley-packed-'))
  project.provide('packed', folder)
  return async () => {
    if (kept === undefined) rmSync(folder, { recursive: true })
  }
}

/**
 * The published package of each workspace. The first caller of a run, in any process, builds and
 * packs all of them; the others wait, since a build replaces the packed files.
 */
export async function packages(): Promise<Packed[]> {
  const folder = inject('packed')
  const list = join(folder, 'packed.json')
  const failure = join(folder, 'failure')
  if (isFirst(folder))
    await pack(folder).then(
      (text) => writeFileSync(list, text),
      (error: Error) => writeFileSync(failure, `${error.message}\n`),
    )
  await vi.waitUntil(() => existsSync(list) || existsSync(failure), patient)
  if (existsSync(failure)) throw new Error(readFileSync(failure, 'utf8'))
  return JSON.parse(readFileSync(list, 'utf8'))
}

function isFirst(folder: string) {
  try {
    mkdirSync(join(folder, 'begun'))
    return true
  } catch {
    return false
  }
}

async function pack(folder: string) {
  const { stdout } = await run(process.execPath, ['pack.js', folder, '--json'], { cwd: root })
  return stdout
}

/** Puts a package into the modules of a project, as npm would. */
export async function unpack({ name, filename }: Packed, project: string) {
  const target = join(project, 'node_modules', name)
  mkdirSync(target, { recursive: true })
  const file = join(inject('packed'), filename)
  await run('tar', ['-xzf', file, '-C', target, '--strip-components=1'])
}
