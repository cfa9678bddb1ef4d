import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The statements that all processes of a test run have sent, each once, in a folder of the run. */

const known = new Set<string>()

/** Notes a statement that this process sends. */
export function noteStatement(folder: string, statement: string) {
  if (known.has(statement)) return
  known.add(statement)
  appendFileSync(join(folder, `${process.pid}.jsonl`), `${JSON.stringify(statement)}\n`)
}

export function sentStatements(folder: string): string[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.jsonl'))
  const lines = files.flatMap((file) => readFileSync(join(folder, file), 'utf8').trim().split('\n'))
  return [...new Set(lines)].map((line) => JSON.parse(line))
}
