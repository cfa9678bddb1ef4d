import { distance } from 'fastest-levenshtein'
import { readEnvFile } from './env-file.ts'
import { Variables } from './index.ts'
import { secretVariables } from './secret-files.ts'

/**
 * A warning for each line of `.env` that would do nothing: one without `=`, or with a name that
 * seems to be a misspelt setting. The file may have variables of other programs, and the
 * environment has many: those are fine.
 */
export function nameWarnings() {
  const { variables, idleLines } = readEnvFile()
  const misspelt = Object.keys(variables).flatMap((name) => {
    const meant = settingMeantBy(name)
    return meant ? [`.env: ${name} is no setting, so it does nothing. Is ${meant} meant?`] : []
  })
  // By their numbers: they may be secrets.
  const idle = idleLines.map((line) => `.env: line ${line} has no "=", so it does nothing`)
  return [...idle, ...misspelt]
}

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
