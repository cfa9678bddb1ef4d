import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { z } from 'zod'

/** The lists of planted defects, one file an area, and the score: how many were seen caught. */
const folder = import.meta.dirname
export const root = join(folder, '../..')
const scoreFile = join(folder, 'score.json')

const Mutation = z.strictObject({
  /** Where the defect is planted: a file of the project, and a text that occurs in it once. */
  file: z.string(),
  find: z.string().min(1),
  replace: z.string(),
  /** The test files that must catch it. */
  tests: z.array(z.string()).min(1),
  /** The wrong behaviour that the defect causes. */
  note: z.string().min(1),
  /** Why no test catches it. */
  survives: z.string().min(1).optional(),
})
/** `id` is the area and the position in its list, from 1. */
export type Defect = z.infer<typeof Mutation> & { id: string; area: string }

const Score = z.record(z.string(), z.object({ caught: z.int(), planted: z.int() }))
export type Score = z.infer<typeof Score>

export function readDefects(): Defect[] {
  const files = readdirSync(folder).filter(
    (name) => name.endsWith('.json') && join(folder, name) !== scoreFile,
  )
  return files.flatMap((name) => {
    const area = basename(name, '.json')
    const list = z.array(Mutation).parse(readJson(join(folder, name)))
    return list.map((mutation, index) => ({ ...mutation, area, id: `${area}:${index + 1}` }))
  })
}

/** The text of a file with the defect in it. */
export function withDefect(text: string, { id, find, replace }: Defect) {
  const occurrences = text.split(find).length - 1
  if (occurrences !== 1) throw new Error(`${id}: its text occurs ${occurrences} times, not once`)
  return text.replace(find, () => replace)
}

/** How many of the listed defects are caught, by area. */
export function scoreOf(defects: readonly Defect[], isCaught: (defect: Defect) => boolean): Score {
  const score: Score = {}
  for (const defect of defects) {
    const { caught, planted } = score[defect.area] ?? { caught: 0, planted: 0 }
    score[defect.area] = { caught: caught + (isCaught(defect) ? 1 : 0), planted: planted + 1 }
  }
  return score
}

export const readScore = () => Score.parse(readJson(scoreFile))
export const writeScore = (score: Score) =>
  writeFileSync(scoreFile, `${JSON.stringify(score, null, 2)}\n`)

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'))
