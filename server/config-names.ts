import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { distance } from 'fastest-levenshtein'
import { Variables } from './config.ts'
import { secretVariables } from './secret-files.ts'

/**
 * A warning for each line of `.env` that would do nothing: one without `=`, or with a name that
 * seems to be a misspelt setting. The file may have variables of other programs, and the
 * environment has many: those are fine.
 */
export function nameWarnings() {
  const file = resolve('.env')
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const misspelt = Object.keys(parseEnv(text)).flatMap((name) => {
    const meant = settingMeantBy(name)
    return meant ? [`.env: ${name} is no setting, so it does nothing. Is ${meant} meant?`] : []
  })
  return [...linesThatSetNothing(text), ...misspelt]
}

/** Lines without effect, named by number: their text may be a secret. */
function linesThatSetNothing(text: string) {
  const lines = text.replace(QUOTED_VALUE, (value) => value.replace(/[^\n]+/g, '=')).split('\n')
  return lines.flatMap((line, index) =>
    /^\s*[^\s#=][^=]*$/.test(line)
      ? [`.env: line ${index + 1} has no "=", so it does nothing`]
      : [],
  )
}

/** A variable's name and its quoted value, which may have several lines. */
const QUOTED_VALUE = /^[^\n#=]*=[^\S\n]*(["'`])[\s\S]*?\1/gm

const settings = [
  ...Object.keys(Variables.shape),
  ...secretVariables.map((variable) => `${variable}_FILE`),
]

/** The setting that a name is close to, unless it is one. */
export function settingMeantBy(name: string) {
  if (settings.includes(name)) return undefined
  return settings.find((setting) => differsLittle(name, setting) || isShortFor(name, setting))
}

/** `LOGLEVEL`, `log_level`, `JWT_SECRT` or `PROT`. A short word is soon close to one of others. */
function differsLittle(name: string, setting: string) {
  const [given, known] = [lettersOf(name), lettersOf(setting)]
  return distance(given, known) <= (known.length < 8 ? 1 : 2) || sorted(given) === sorted(known)
}

const sorted = (letters: string) => [...letters].sort().join('')

const lettersOf = (name: string) => name.toUpperCase().replaceAll('_', '')

/** `AUDIT_RETENTION` or `ADMIN_KEY`: of several words, with the first, and none of its own. */
function isShortFor(name: string, setting: string) {
  const words = setting.split('_')
  const given = name.toUpperCase().split('_')
  return given.length > 1 && given[0] === words[0] && given.every((word) => words.includes(word))
}
