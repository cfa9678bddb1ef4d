import { connectOnce } from '@parley/server/db/client'
import { expect, onTestFinished, test } from 'vitest'
import { useWorld } from '../support/world.ts'

const statements: string[] = []
const world = useWorld({ onStatement: (statement) => void statements.push(statement) })

/** Values for a statement's parameters, by the numbers of their types. */
const valuesOf = (appId: string): Record<number, string> => ({
  25: 'name',
  1009: '{user-1}',
  2950: appId,
  3802: '{"user-1":{"id":"user-1","name":"One"}}',
})

test.each(['force_custom_plan', 'force_generic_plan'])(
  'users are upserted by their keys in an app of 20,000 (%s)',
  async (mode) => {
    const { backend, db, appId, databaseUrl } = world()
    await db`
      insert into users (app_id, id)
      select ${appId}, 'user-' || n
      from generate_series(1, 20000) n
      on conflict do nothing`
    await db`analyze users`
    await backend.tokens.create({ userId: 'user-1' })
    const upsert = statements.findLast((statement) => statement.includes('insert into users'))
    const sql = connectOnce(databaseUrl)
    onTestFinished(() => sql.end())
    const { types } = await sql.unsafe(upsert ?? '').describe()
    const values = types.map((type) => `'${valuesOf(appId)[type]}'`)
    await sql.unsafe(`set plan_cache_mode = ${mode}`)
    await sql.unsafe(`prepare upsert as ${upsert}`)
    const plan = await sql.unsafe(`explain execute upsert (${values})`)
    const lines = plan.map((row) => row['QUERY PLAN'])
    expect(lines.join('\n')).toContain('Index Scan using users_')
    expect(lines.filter((line) => line.includes('Seq Scan on users'))).toEqual([])
  },
)
