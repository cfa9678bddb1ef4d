import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Unpacks the server of a release where it finds the packages of others: in our folder, which is
 * their newest version.
 */
export function unpackRelease(archive: string) {
  const parent = join(import.meta.dirname, '../../server/node_modules/.parley-test')
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, 'release-'))
  execFileSync('tar', ['-xzf', archive, '-C', folder])
  return {
    bin: join(folder, 'node_modules/@parley/server/dist/bin/parley.js'),
    remove: () => rmSync(folder, { recursive: true }),
  }
}
