import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Defect } from './list.ts'

/**
 * What recorded runs found, defect by defect, so that a run of hundreds can be ended and resumed.
 * It stays on the machine.
 */
const file = join(import.meta.dirname, '.verdicts.local')
const Verdicts = z.record(z.string(), z.boolean())

/** A defect that was changed since is another one. */
const keyOf = (defect: Defect) => {
  const { file, find, replace, tests } = defect
  return createHash('sha256')
    .update(JSON.stringify([file, find, replace, tests]))
    .digest('hex')
}

export function openVerdicts({ isResumed }: { isResumed: boolean }) {
  const before = existsSync(file) ? Verdicts.parse(JSON.parse(readFileSync(file, 'utf8'))) : {}
  const verdicts = new Map(Object.entries(isResumed ? before : {}))
  return {
    /** Whether a defect was caught; undefined if it has not been planted yet. */
    of: (defect: Defect) => verdicts.get(keyOf(defect)),
    record: (defect: Defect, isCaught: boolean) => {
      verdicts.set(keyOf(defect), isCaught)
      writeFileSync(file, JSON.stringify(Object.fromEntries(verdicts)))
    },
  }
}
