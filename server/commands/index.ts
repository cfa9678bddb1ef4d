import { createRequire } from 'node:module'
import { parseArgs } from 'node:util'
import { errorMessage } from '../lifecycle.ts'

/** A command of `parley`. Its code is only loaded when it runs. */
type Command = {
  summary: string
  /** What `parley <command> --help` says beside the summary. */
  details: string
  /** Its argument and its options, which are all flags. */
  argument?: string
  flags?: Record<string, string>
  run: (given: { argument?: string | undefined; flags: Record<string, boolean> }) => Promise<void>
}

const commands: Record<string, Command> = {
  start: {
    summary: 'Start the server (without a command, too)',
    details: `\
Without DATABASE_URL it brings its own PostgreSQL, below DATA_DIR. It migrates the database, unless
MIGRATE_ON_START=off. SIGTERM ends it when the calls in progress are answered.`,
    run: async () => (await import('./start.ts')).start(),
  },
  migrate: {
    summary: 'Bring the schema of the database up to date',
    details: `\
It applies what is missing, forward only, while servers run. Run it before you start servers with
MIGRATE_ON_START=off.`,
    run: async () => (await import('./migrate.ts')).migrateDatabase(),
  },
  check: {
    summary: 'Say whether a start would succeed, and what it would warn of',
    details: `\
It checks the settings, that the database answers, its version and its schema, and changes nothing.
The exit code is 0 if a start would succeed, and 1 otherwise.`,
    run: async () => (await import('./check.ts')).check(),
  },
  worker: {
    summary: 'Run the jobs of servers with JOBS=external',
    details: 'It needs the DATABASE_URL of its servers, and may run many times.',
    run: async () => (await import('./worker.ts')).startWorker(),
  },
  'new-epoch': {
    summary: 'Tell clients to fetch again, after a backup was restored',
    details: 'Run it with the environment of the servers, after the backup and before their start.',
    run: async () => (await import('./new-epoch.ts')).startEpoch(),
  },
  'setup-push': {
    summary: 'Create the workflows at the push provider',
    details: 'It needs PUSH_SECRET_KEY, and may be repeated: workflows that exist are not changed.',
    run: async () => (await import('./setup-push.ts')).setUp(),
  },
  openapi: {
    summary: 'Write openapi.json and asyncapi.json',
    details: 'They are written to the folder, or to the current one.',
    argument: 'folder',
    flags: { check: 'compare them with the files that are there, and write nothing' },
    run: async ({ argument, flags }) =>
      (await import('./openapi.ts')).writeDocuments({ folder: argument, isCheck: flags.check }),
  },
}

/** Those that most installations have. */
const settings: [string, string][] = [
  ['DATABASE_URL', 'a PostgreSQL, version 15 or newer'],
  ['DATA_DIR', 'where the embedded PostgreSQL is (.data)'],
  ['HOST, PORT', 'where the server listens (127.0.0.1, 5501)'],
  ['NODE_ENV', 'production asks for JWT_SECRET and DATABASE_URL'],
]

/**
 * Runs the command that the arguments name: `start`, unless they name another. Answers the exit
 * code; a server or a worker runs on.
 */
export async function runCommand(args: string[]) {
  const [first = '', ...rest] = args
  if (['--help', '-h', 'help'].includes(first)) return say(overview())
  if (['--version', '-v'].includes(first)) return say(version())
  const isNamed = first !== '' && !first.startsWith('-')
  const name = isNamed ? first : 'start'
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) return refuse(`unknown command "${name}"`, 'parley --help')
  const { argument, flags, isHelp, problem } = parse(command, isNamed ? rest : args)
  if (isHelp) return say(helpOf(name, command))
  if (problem !== undefined) return refuse(problem, `parley ${name} --help`)
  try {
    await command.run({ argument, flags })
    return 0
  } catch (error) {
    console.error(errorMessage(error))
    return 1
  }
}

function say(text: string) {
  console.log(text)
  return 0
}

function refuse(problem: string, help: string) {
  console.error(`parley: ${problem}. See: ${help}`)
  return 1
}

function parse(command: Command, args: string[]) {
  const { tokens } = parseArgs({ args, strict: false, tokens: true })
  const flags: Record<string, boolean> = {}
  let argument: string | undefined
  let problem: string | undefined
  for (const token of tokens) {
    if (token.kind === 'positional') {
      const isExpected = command.argument !== undefined && argument === undefined
      if (isExpected) argument = token.value
      else problem ??= `unexpected argument "${token.value}"`
    }
    if (token.kind !== 'option') continue
    const isKnown = ['help', 'h', ...Object.keys(command.flags ?? {})].includes(token.name)
    if (!isKnown) problem ??= `unknown option ${token.rawName}`
    else if (token.value !== undefined) problem ??= `${token.rawName} takes no value`
    else flags[token.name] = true
  }
  return { argument, flags, problem, isHelp: flags.help || flags.h }
}

const overview = () => `\
Parley ${version()}, a chat backend on one PostgreSQL.

Usage: parley [command]

Commands:
${table(Object.entries(commands).map(([name, { summary }]) => [name, summary]))}

parley <command> --help says more about one. --version prints the version.
Settings are environment variables, read from .env too. Most used:
${table(settings)}`

function helpOf(name: string, { summary, details, argument, flags = {} }: Command) {
  const words = ['parley', name, argument && `[${argument}]`, ...Object.keys(flags).map(optional)]
  const options = Object.entries({ ...flags, help: 'print this' })
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

/** That of the package, wherever it is installed. */
function version(): string {
  return createRequire(import.meta.url)('@parley/server/package.json').version
}
