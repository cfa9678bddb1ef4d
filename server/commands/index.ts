import { parseArgs } from 'node:util'
import { isProductionProcess } from '../config/index.ts'
import { errorMessage } from '../process/lifecycle.ts'
import { type CliCommand, helpOf, overview, version } from './help.ts'
import { outliveOutputs, requirePrinted } from './outputs.ts'

const commands: Record<string, CliCommand> = {
  start: {
    summary: 'Start the server (without a command, too)',
    details: `\
Without DATABASE_URL it brings its own PostgreSQL, below DATA_DIR. It migrates the database, unless
MIGRATE_ON_START=off. SIGTERM ends it when the calls in progress are answered.`,
    isServer: true,
    run: async () => (await import('./start.ts')).start(),
  },
  migrate: {
    summary: 'Bring the schema of the database up to date',
    details: `\
It applies what is missing, forward only, while servers run. Run it before you start servers with
MIGRATE_ON_START=off.`,
    run: async () => (await import('./migrate.ts')).migrateDatabase(),
  },
  grant: {
    summary: 'Let a role of the database run the servers, which owns nothing',
    details: `\
Run it, like parley migrate, as the owner of the tables, once, and again when a release says so. It
migrates, and grants the role what servers and workers need: to read and write rows. They start with
MIGRATE_ON_START=off and the DATABASE_URL of that role. The role must exist.`,
    required: ['role'],
    run: async ({ required: [role = ''] }) => (await import('./grant.ts')).grantTo(role),
  },
  check: {
    summary: 'Say whether a start would succeed, and what it would warn of',
    details: `\
It checks the settings, that the database answers, its version, its schema and the rights to migrate
it, or the place of the embedded one, and changes nothing. Redis is asked whether it answers, too.
The exit code is 0 if a start would succeed, and 1 otherwise.`,
    run: async () => (await import('./check.ts')).check(),
  },
  worker: {
    summary: 'Run the jobs of servers with JOBS=external',
    details: 'It needs the DATABASE_URL of its servers, and may run many times.',
    isServer: true,
    run: async () => (await import('./worker.ts')).startWorker(),
  },
  'new-epoch': {
    summary: 'Tell clients to fetch again, after a backup was restored',
    details: `\
Run it with the environment of the servers, after the backup was restored and before their start. It
refuses while servers run on the database.`,
    flags: { force: 'also while servers seem to run' },
    run: async ({ flags }) =>
      (await import('./new-epoch.ts')).startEpoch({ isForced: flags.force ?? false }),
  },
  'setup-push': {
    summary: 'Create the workflows at the push provider',
    details: 'It needs PUSH_SECRET_KEY, and may be repeated: workflows that exist are not changed.',
    run: async () => (await import('./setup-push.ts')).setUp(),
  },
  import: {
    summary: 'Import the history of another system, from parley.jsonl',
    details: `\
It reads the file, or the standard input for -, and may run beside servers. What could not be
imported is in the report that it prints at the end. A repetition changes nothing, and one after an
interruption goes on where that was. The format is in docs/import.md.`,
    required: ['file'],
    values: { app: 'the id of the app' },
    run: async ({ required: [file = ''], values: { app = '' } }) =>
      (await import('./import.ts')).importFile({ file, appId: app }),
  },
  convert: {
    summary: 'Turn the export of another service into parley.jsonl',
    details: `\
The format is stream-export or sendbird-export. The records are printed, and what could not be
converted is reported on the standard error. It fails if nothing could be. See docs/migration.md.`,
    required: ['format', 'file'],
    run: async ({ required: [format = '', file = ''] }) =>
      (await import('./convert/index.ts')).convert({ format, file }),
  },
  'app:export': {
    summary: 'Write all that an app has to a file, to move it or to keep it',
    details: `\
It writes one moment of the app, while servers run, to a file that must not exist yet, or to the
standard output for -. API keys, devices, webhooks and the before-send hook are left out, because
they have secrets. See docs/scaling.md.`,
    required: ['app', 'file'],
    flags: { 'with-secrets': 'include them' },
    run: async ({ required: [appId = '', file = ''], flags }) =>
      (await import('./app-file/index.ts')).exportApp({
        appId,
        file,
        hasSecrets: flags['with-secrets'] ?? false,
      }),
  },
  'app:import': {
    summary: 'Store the app of a file that parley app:export has written',
    details: `\
It reads the file, or the standard input for -, and may run beside servers. Nobody sees the app
before all of it is stored. After an interruption run it again: it goes on where it was.`,
    required: ['file'],
    run: async ({ required: [file = ''] }) => (await import('./app-file/index.ts')).importApp(file),
  },
  'app:discard': {
    summary: 'Give up an app:import that was not finished',
    details: 'The next cleanups of the servers delete what it has stored.',
    required: ['app'],
    run: async ({ required: [appId = ''] }) =>
      (await import('./app-file/index.ts')).discardImport(appId),
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

/**
 * Runs the command that the arguments name: `start`, unless they name another. Answers the exit
 * code; a server or a worker runs on.
 */
export async function runCommand(args: string[]): Promise<number> {
  const [first = '', ...rest] = args
  if (first === 'help' && rest.length > 0) return runCommand([...rest, '--help'])
  if (['--help', '-h', 'help'].includes(first)) return say(overview(commands))
  if (['--version', '-v'].includes(first)) return say(version())
  const isNamed = first !== '' && !first.startsWith('-')
  const name = isNamed ? first : 'start'
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) return printProblem(`unknown command "${name}"`, 'parley --help')
  const { isHelp, problem, ...given } = parse(command, isNamed ? rest : args)
  if (isHelp) return say(helpOf(name, command))
  if (problem !== undefined) return printProblem(problem, `parley ${name} --help`)
  const { run, isServer = false } = command
  return attempt(() => run(given), isServer)
}

const say = (text: string) => attempt(async () => console.log(text))

/** Runs something to its end: 0, or 1 after a line that says why not. A server runs on. */
async function attempt(run: () => Promise<void>, isServer = false) {
  // In production it only writes its log, which looks after itself.
  if (!isServer || !isProductionProcess()) outliveOutputs()
  try {
    await run()
    if (!isServer) await requirePrinted()
    return 0
  } catch (error) {
    console.error(errorMessage(error))
    return 1
  }
}

function printProblem(problem: string, help: string) {
  console.error(`parley: ${problem}. See: ${help}`)
  return 1
}

function parse(
  { required: names = [], argument: optionalName, ...command }: CliCommand,
  args: string[],
) {
  const valueNames = Object.keys(command.values ?? {})
  const options = Object.fromEntries(valueNames.map((name) => [name, { type: 'string' as const }]))
  const { tokens } = parseArgs({ args, options, strict: false, tokens: true })
  const flags: Record<string, boolean> = {}
  const values: Record<string, string> = {}
  const given: string[] = []
  const most = names.length + (optionalName === undefined ? 0 : 1)
  let problem: string | undefined
  for (const token of tokens) {
    if (token.kind === 'positional') {
      if (given.length < most) given.push(token.value)
      else problem ??= `unexpected argument "${token.value}"`
    }
    if (token.kind !== 'option') continue
    const { name, rawName, value } = token
    const isFlag = ['help', 'h', ...Object.keys(command.flags ?? {})].includes(name)
    if (valueNames.includes(name)) {
      if (value === undefined) problem ??= `${rawName} takes a value`
      else values[name] = value
    } else if (!isFlag) problem ??= `unknown option ${rawName}`
    else if (value !== undefined) problem ??= `${rawName} takes no value`
    else flags[name] = true
  }
  const missing = names[given.length] ?? valueNames.find((name) => !(name in values))
  if (missing !== undefined)
    problem ??= `expected ${valueNames.includes(missing) ? `--${missing}` : `<${missing}>`}`
  const required = given.slice(0, names.length)
  const argument = given[names.length]
  return { required, argument, flags, values, problem, isHelp: flags.help || flags.h }
}
