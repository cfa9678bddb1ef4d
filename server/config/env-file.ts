import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { readable } from './secret-files.ts'

/**
 * Reads the variables that `.env` of the current folder sets, and the numbers of lines without `=`,
 * which set nothing. Those lines are kept from the parser of Node.js: it would take one for the
 * beginning of the next name, and that setting would be missing.
 */
export function readEnvFile() {
  const file = resolve('.env')
  // Node.js would not say why it cannot be read.
  const text = existsSync(file) ? readable(file, '.env') : ''
  const lines = text.split('\n')
  const outsideQuotes = text
    .replace(QUOTED_VALUE, (value) => value.replace(/[^\n]+/g, '='))
    .split('\n')
  const isIdle = outsideQuotes.map((line) => /^\s*[^\s#=][^=]*$/.test(line))
  return {
    variables: parseEnv(lines.filter((_, index) => !isIdle[index]).join('\n')),
    idleLines: lines.flatMap((_, index) => (isIdle[index] ? [index + 1] : [])),
  }
}

/** With its name. It may have several lines. */
const QUOTED_VALUE = /^[^\n#=]*=[^\S\n]*(["'`])[\s\S]*?\1/gm
