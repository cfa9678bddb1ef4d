import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectOnce } from '@parley/server/db/client'
import { migrate } from '@parley/server/db/migrate'
import { startTemporary } from './support/postgres.ts'
import { unpackRelease } from './support/release-archive.ts'
import { playStory } from './support/release-story.ts'
import { sentStatements } from './support/sql/sent.ts'
import { until } from './support/until.ts'

/**
 * `npm run release:folder`: makes the folder of the version in `package.json`, from which later
 * versions are tested to upgrade (`test/long/upgrade*.long.ts`). It has the server as it is
 * published, the rows that it writes for a few users, and the statements that `npm test` sends.
 */
const root = join(import.meta.dirname, '..')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const folder = join(import.meta.dirname, 'releases', version)
const adminKey = 'the-admin-key-of-a-release'
const run = (program: string, ...args: string[]) =>
  execFileSync(program, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] }).toString()

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder)
packServer(join(folder, 'server.tar.gz'))
const database = await startTemporary()
try {
  await migrate(database.url)
  const sql = connectOnce(database.url)
  await writeStatements(join(folder, 'statements.sql'), sql)
  await writeRows(join(folder, 'data.sql'), sql)
  await sql.end()
} finally {
  await database.stop()
}

/** Packs the code of the packages into one file, without types, source maps, pages and readme. */
function packServer(file: string) {
  const packed = mkdtempSync(join(tmpdir(), 'parley-release-'))
  const packages: { name: string; filename: string }[] = JSON.parse(
    run(process.execPath, 'pack.js', packed, 'contract', 'server', '--json'),
  )
  const left = ['*.map', '*.d.ts', '*.md', 'package/dist/http'].map((each) => `--exclude=${each}`)
  for (const { name, filename } of packages) {
    const target = join(packed, 'node_modules', name)
    mkdirSync(target, { recursive: true })
    run('tar', '-xzf', join(packed, filename), '-C', target, '--strip-components=1', ...left)
  }
  run('tar', '-czf', file, '-C', packed, 'node_modules')
  rmSync(packed, { recursive: true })
}

type Connection = ReturnType<typeof connectOnce>

/** Leaves the queue's statements out: its tables are another project's, which migrates them. */
async function writeStatements(file: string, sql: Connection) {
  const noted = mkdtempSync(join(tmpdir(), 'parley-statements-'))
  const args = ['vitest', 'run', '--config', 'test/vitest.config.ts']
  const env = { ...process.env, STATEMENTS_FOLDER: noted }
  const { status } = spawnSync('npx', args, { cwd: root, stdio: 'inherit', env })
  if (status !== 0) throw new Error('npm test fails')
  const understood: string[] = []
  for (const statement of sentStatements(noted).toSorted())
    await sql
      .unsafe(statement)
      .describe()
      .then(
        () => understood.push(statement),
        () => {},
      )
  writeFileSync(file, understood.join('\n--> statement-breakpoint\n'))
  rmSync(noted, { recursive: true })
}

/** Rows of nodes and connections are of the moment. */
async function writeRows(file: string, sql: Connection) {
  const server = startReleased(join(folder, 'server.tar.gz'))
  try {
    await playStory({ url: await server.url(), adminKey })
    const forgotten = () => sql`
      select
      from users
      where forgotten_at is not null`
    await until(async () => (await forgotten()).length > 0)
  } finally {
    server.child.kill('SIGTERM')
    await once(server.child, 'close')
    server.remove()
  }
  const tables = await sql<{ name: string; columns: string; row: string }[]>`
    select
      quote_ident(t.table_name) as name,
      string_agg(quote_ident(c.column_name), ', ' order by c.ordinal_position) as columns,
      string_agg(
        format('quote_nullable(%I)', c.column_name), ', ' order by c.ordinal_position
      ) as row
    from information_schema.tables t
    join information_schema.columns c using (table_schema, table_name)
    where t.table_schema = 'public'
      and t.table_type = 'BASE TABLE'
      and t.table_name not in ('nodes', 'connections')
      and c.is_generated = 'NEVER'
    group by t.table_name
    order by t.table_name`
  const inserts: string[] = []
  for (const { name, columns, row } of tables) {
    const rows = await sql.unsafe(`select concat_ws(', ', ${row}) as "values" from ${name}`)
    if (rows.length === 0) continue
    const lines = rows.map(({ values }) => `\t(${values})`)
    const into = `INSERT INTO ${name} (${columns}) OVERRIDING SYSTEM VALUE VALUES`
    inserts.push(`${into}\n${lines.join(',\n')};\n`)
  }
  const sequences = await sql<{ name: string; last: string }[]>`
    select sequencename as name, last_value as last
    from pg_sequences
    where schemaname = 'public'
      and last_value is not null
    order by sequencename`
  const continued = sequences.map(({ name, last }) => `SELECT setval('${name}', ${last});\n`)
  // Tables refer to each other, and each row has what a trigger would add to it.
  const [before, after] = [
    'SET session_replication_role = replica;\n',
    'RESET session_replication_role;\n',
  ]
  writeFileSync(file, [before, ...inserts, ...continued, after].join('--> statement-breakpoint\n'))
}

function startReleased(archive: string) {
  const { bin, remove } = unpackRelease(archive)
  const child: ChildProcess = spawn(process.execPath, [bin, 'start'], {
    env: {
      ...{ PATH: process.env.PATH, NODE_ENV: 'production', PORT: '0', HOST: '127.0.0.1' },
      ...{ DATABASE_URL: database.url, ADMIN_API_KEY: adminKey, SHUTDOWN_DELAY_SECONDS: '0' },
      JWT_SECRET: 'the secret of a release, of 32 bytes or more',
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (data) => {
      output += data
    })
  const url = () => until(() => /"baseUrl":"([^"]+)"/.exec(output)?.[1])
  return { child, url, remove }
}
