import { expect, inject, test } from 'vitest'
import { declaredQueries } from './support/sql/declared.ts'

// Read while other files run, for the test of all queries, which runs alone after them.
test('the queries of the server that declare their rows are found', () => {
  const queries = declaredQueries(inject('statements'))
  expect(queries.length).toBeGreaterThan(50)
  expect(queries.filter(({ columns }) => columns.size > 0).length).toBeGreaterThan(50)
})
