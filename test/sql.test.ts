import { expect, inject, test } from 'vitest'
import { type DeclaredQuery, declaredQueries } from './support/sql/declared.ts'
import { sentStatements } from './support/sql/sent.ts'
import { useWorld } from './support/world.ts'

/** Runs after all other files, because it checks the statements that they sent. */

/** The types that Postgres.js, with our parsers, returns for PostgreSQL types, by OID. */
const kinds: Record<number, string> = {
  16: 'boolean',
  19: 'string',
  20: 'string',
  21: 'number',
  23: 'number',
  25: 'string',
  114: 'json',
  701: 'number',
  1000: 'boolean[]',
  1007: 'number[]',
  1009: 'string[]',
  1016: 'number[]',
  1043: 'string',
  1184: 'string',
  1185: 'string[]',
  1700: 'string',
  2950: 'string',
  2951: 'string[]',
  3802: 'json',
}

// Jobs are on, so that the tables of their queue are there.
const world = useWorld({ jobs: {} })

test('every query of the server answers the rows that its declared type says', async () => {
  const queries = declaredQueries(inject('statements')).sort((a, b) => lengthOf(b) - lengthOf(a))
  // A query without parameters is its own statement, whoever sends it.
  const constant = queries.flatMap(({ parts: [text, ...more] }) => (more.length === 0 ? text : []))
  const statements = [...sentStatements(inject('statements')), ...constant].filter(isText)
  const unsent = new Set(queries)
  const faults = new Set<string>()
  for (const statement of statements) {
    // If several queries match, it is the one with the most text.
    const query = queries.find((each) => isSentBy(each, statement))
    if (!query) continue
    unsent.delete(query)
    for (const fault of await compare(query, statement)) faults.add(fault)
  }

  expect([...faults]).toEqual([])
  expect(
    [...unsent].map(({ place }) => place),
    'queries that no test sends (run the whole suite: npm test)',
  ).toEqual([])
})

const isText = (text: string | undefined) => text !== undefined
const lengthOf = ({ parts }: DeclaredQuery) => parts.join('').length

/** Whether a statement has all parts of a query in order, with anything in place of parameters. */
function isSentBy({ parts }: DeclaredQuery, statement: string) {
  const last = parts.at(-1) ?? ''
  let end = 0
  for (const [index, part] of parts.slice(0, -1).entries()) {
    const start = statement.indexOf(part, end)
    if (start === -1 || (index === 0 && start > 0)) return false
    end = start + part.length
  }
  return parts.length === 1 ? statement === last : statement.slice(end).endsWith(last)
}

async function compare(query: DeclaredQuery, statement: string) {
  const { place, columns, isPositional, optional } = query
  const described = await world().db.unsafe(statement).describe()
  const answered = new Map(
    described.columns.map(({ name, type }, index) => [
      isPositional ? `${index}` : name,
      kinds[type] ?? `type ${type}`,
    ]),
  )
  const missing = [...columns.keys()].filter((name) => !answered.has(name) && !optional.has(name))
  const undeclared = [...answered.keys()].filter((name) => !columns.has(name))
  const different = [...answered].filter(
    ([name, kind]) => columns.has(name) && !columns.get(name)?.includes(kind),
  )
  return [
    ...missing.map((name) => `${place}: ${name} is declared and not answered`),
    ...undeclared.map((name) => `${place}: ${name} is answered and not declared`),
    ...different.map(
      ([name, kind]) => `${place}: ${name} is ${kind}, declared ${columns.get(name)?.join(' | ')}`,
    ),
  ]
}
