import { readFileSync } from 'node:fs'

/** The variables whose value may be in a file instead, as orchestrators mount secrets. */
export const secretVariables = [
  'DATABASE_URL',
  'REDIS_URL',
  'ADMIN_API_KEY',
  'JWT_SECRET',
  'JWT_PREVIOUS_SECRETS',
  'PUSH_SECRET_KEY',
] as const

type Variables = Record<string, string | undefined>

/**
 * The variables, those with `_FILE` replaced by what their file contains, and what is wrong with
 * the files.
 */
export function withSecretFiles(given: Variables) {
  const values: Variables = { ...given }
  const problems: string[] = []
  for (const name of secretVariables) {
    const file = given[`${name}_FILE`]
    if (file === undefined) continue
    try {
      values[name] = secretOf({ name, file, given })
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error))
    }
  }
  return { values, problems }
}

function secretOf({ name, file, given }: { name: string; file: string; given: Variables }) {
  if (given[name] !== undefined) throw new Error(`${name}: expected without ${name}_FILE`)
  return contentOf(file, `${name}_FILE`)
}

/** Editors and `echo` end a file with a line break, which belongs to no secret. */
function contentOf(file: string, variable: string) {
  const content = readable(file, variable).trim()
  if (content === '') throw new Error(`${variable}: ${file} is empty`)
  return content
}

/** The text of a file. The error for one that cannot be read names the setting. */
export function readable(file: string, variable: string) {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? error.code : 'error'
    throw new Error(`${variable}: ${file} cannot be read (${reason})`)
  }
}
