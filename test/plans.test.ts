import type { DbConnection } from '@parley/server/db/client'
import postgres from 'postgres'
import { expect, inject, test } from 'vitest'
import { sentStatements } from './support/sql/sent.ts'
import { useWorld } from './support/world.ts'

/** Runs after all other files, because it looks at the plans of the statements that they sent. */

// Jobs are on, so that the tables of their queue are there.
const world = useWorld({ jobs: {} })

/** Tables with a row for each app, node, socket, or piece of work that waits. */
const small = [
  'app_imports',
  'apps',
  'connections',
  'job_workers',
  'message_streams',
  'nodes',
  'service',
  'staged_jobs',
  'webhooks',
]
/** Indexes of the few rows that wait for something. */
const queues = ['apps_with_retention', 'channels_importing', 'imported_rows_due', 'users_to_forget']
/** Statements of the job queue's library, and those that a command runs and plans only once. */
const isOthers = (statement: string) =>
  /"?graphile_worker"?\.|pg_catalog|pg_class|__drizzle_migrations/.test(statement) ||
  /^\s*select \(\(to_jsonb\(/.test(statement)

type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  Filter?: string
  Plans?: Plan[]
}

/** The tables and indexes that a plan reads from end to end. */
function* wholeReads(node: Plan, parents: string[] = []): Generator<string> {
  const { 'Node Type': kind, 'Relation Name': table = '', 'Index Name': index = '' } = node
  const isScan = kind.endsWith('Scan') && table !== ''
  const isKeyed = node['Index Cond'] !== undefined || kind === 'Tid Scan'
  // A scan in the order of an index, as far as a limit.
  const isLimited = parents[0] === 'Limit' && node.Filter === undefined
  if (isScan && !isKeyed && !isLimited && !small.includes(table) && !queues.includes(index))
    yield `${kind} of ${table} ${index}`
  // Locks and projections pass a limit on.
  const passed = ['LockRows', 'Result'].includes(kind) ? parents : [kind]
  for (const child of node.Plans ?? []) yield* wholeReads(child, passed)
}

test('statements prepared while tables were small find rows by keys all the same', async () => {
  const { db, pool } = world()
  // The tables have so few rows that reading all of them seems cheap.
  await db`vacuum analyze`
  const statements = sentStatements(inject('statements')).filter(
    (statement) =>
      /^\s*(select|with|insert|update|delete)\b/.test(statement) && !isOthers(statement),
  )
  expect(statements.length, 'run the whole suite: npm test').toBeGreaterThan(200)
  const faults: string[] = []
  await pool.use(async (connection) => {
    for (const statement of statements) {
      if (!(await isPrepared(connection, statement))) continue
      const [prepared] = await connection<{ parameters: number }[]>`
        select cardinality(parameter_types)::int as parameters
        from pg_prepared_statements
        where name = 'looked_at'`
      const nulls = Array.from({ length: prepared?.parameters ?? 0 }, () => 'null')
      const call = nulls.length > 0 ? `looked_at (${nulls})` : 'looked_at'
      const [explained] = await connection.unsafe<{ queryPlan: [{ Plan: Plan }] }[]>(
        `explain (format json) execute ${call}`,
      )
      for (const { Plan: plan } of explained?.queryPlan ?? [])
        for (const read of wholeReads(plan)) faults.push(`${read}\n${statement}`)
      await connection.unsafe('deallocate looked_at').simple()
    }
  })
  expect(faults).toEqual([])
})

/** False if the tables of a statement were there in one test only. */
async function isPrepared(connection: DbConnection, statement: string) {
  try {
    await connection.unsafe(`prepare looked_at as ${statement}`).simple()
    return true
  } catch (error) {
    if (error instanceof postgres.PostgresError && error.code === '42P01') return false
    throw error
  }
}
