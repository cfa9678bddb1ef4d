import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** A migration as drizzle-kit wrote it. */
export type Migration = {
  /** Like 0012_channels_of_workspace. */
  name: string
  /** When it was written, in milliseconds; later ones are applied later. */
  writtenAt: number
  hash: string
  statements: string[]
}

type Journal = { entries: { tag: string; when: number }[] }

const read = (file: string) =>
  readFileSync(new URL(`./migrations/${file}`, import.meta.url), 'utf8')

/** Every migration of this version, in their order. */
export function readMigrations(): Migration[] {
  const { entries }: Journal = JSON.parse(read('meta/_journal.json'))
  return entries.map(({ tag, when }) => {
    const text = read(`${tag}.sql`)
    return {
      name: tag,
      writtenAt: when,
      hash: createHash('sha256').update(text).digest('hex'),
      statements: text.split('--> statement-breakpoint'),
    }
  })
}

/** The number of the last migration of graphile-worker, which makes its tables itself. */
export function lastQueueMigration() {
  const folder = dirname(createRequire(import.meta.url).resolve('graphile-worker/package.json'))
  const numbers = readdirSync(join(folder, 'sql')).map((file) => Number.parseInt(file, 10))
  return Math.max(...numbers)
}
