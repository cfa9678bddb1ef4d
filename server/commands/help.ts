import { createRequire } from 'node:module'

/** A command of `parley`. Its code is only loaded when it runs. */
export type CliCommand = {
  summary: string
  /** Shown by `parley <command> --help` beside the summary. */
  details: string
  /** The required arguments, and an optional one. */
  required?: string[]
  argument?: string
  /** The options: flags, and options with a value, which are required. */
  flags?: Record<string, string>
  values?: Record<string, string>
  /** Whether it runs on when `run` has ended. */
  isServer?: boolean
  run: (given: ParsedArguments) => Promise<void>
}
type ParsedArguments = {
  /** The values of the required arguments, in order. */
  required: string[]
  argument?: string | undefined
  flags: Record<string, boolean>
  values: Record<string, string>
}

/** The settings that most installations have. */
const settings: [string, string][] = [
  ['DATABASE_URL', 'a PostgreSQL, version 15 or newer'],
  ['DATA_DIR', 'where the embedded PostgreSQL is (.data)'],
  ['HOST, PORT', 'where the server listens (127.0.0.1, 5501)'],
  ['NODE_ENV', 'production asks for JWT_SECRET and DATABASE_URL'],
]

export const overview = (commands: Record<string, CliCommand>) => `\
Parley ${version()}, a chat backend on one PostgreSQL.

Usage: parley [command]

Commands:
${table(Object.entries(commands).map(([name, { summary }]) => [name, summary]))}

parley <command> --help says more about one. --version prints the version.
Settings are environment variables, read from .env too. Most used:
${table(settings)}`

export function helpOf(name: string, { summary, details, argument, ...command }: CliCommand) {
  const { required = [], flags = {}, values = {} } = command
  const words = [
    'parley',
    name,
    ...required.map((word) => `<${word}>`),
    argument && `[${argument}]`,
    ...Object.keys(values).map((word) => `--${word} <${word}>`),
    ...Object.keys(flags).map(optional),
  ]
  const options = Object.entries({ ...values, ...flags, help: 'print this' })
  return `\
Usage: ${words.filter(Boolean).join(' ')}

${summary}.
${details}

Options:
${table(options.map(([flag, meaning]) => [`--${flag}`, meaning]))}`
}

const optional = (flag: string) => `[--${flag}]`

function table(rows: (readonly [string, string])[]) {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, meaning]) => `  ${name.padEnd(width)}  ${meaning}`).join('\n')
}

/** The version of the package, wherever it is installed. */
export function version(): string {
  return createRequire(import.meta.url)('@parley/server/package.json').version
}
