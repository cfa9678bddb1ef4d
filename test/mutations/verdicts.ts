import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Defect } from './list.ts'

/**
 * Whether each defect was caught when it was last planted. Each has a line, and they are sorted, so
 * that the results of different machines can be merged as text.
 */
const file = join(import.meta.dirname, 'verdicts.txt')
const Line = z.tuple([z.string().regex(/^[0-9a-f]{12}$/), z.enum(['caught', 'survived'])])

/** A defect that was changed since is another one. */
const keyOf = (defect: Defect) => {
  const { file, find, replace, tests } = defect
  return createHash('sha256')
    .update(JSON.stringify([file, find, replace, tests]))
    .digest('hex')
    .slice(0, 12)
}

const readLines = () =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : []

export function openVerdicts() {
  const verdicts = new Map(readLines().map((line) => Line.parse(line.split(' '))))
  return {
    /** Whether a defect was caught; undefined if it has not been planted yet. */
    of: (defect: Defect) => {
      const verdict = verdicts.get(keyOf(defect))
      return verdict && verdict === 'caught'
    },
    record: (defect: Defect, isCaught: boolean) => {
      verdicts.set(keyOf(defect), isCaught ? 'caught' : 'survived')
    },
    /** Keeps the verdicts of the listed defects. */
    write: (listed: readonly Defect[]) => {
      const keys = new Set(listed.map(keyOf))
      const lines = [...verdicts].filter(([key]) => keys.has(key)).map((line) => line.join(' '))
      writeFileSync(file, `${lines.sort().join('\n')}\n`)
    },
  }
}
