import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, inject, test } from 'vitest'
import { declaredQueries } from './support/sql/declared.ts'

test('no two tests of the suite share one title', () => {
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' }).filter(
    (file) => /\.(test|long|browser)\.ts$/.test(file) && !file.includes('node_modules'),
  )
  const places = new Map<string, string[]>()
  for (const file of files)
    for (const title of titlesIn(file)) places.set(title, [...(places.get(title) ?? []), file])
  expect(places.size).toBeGreaterThan(300)
  expect([...places].filter(([, found]) => found.length > 1)).toEqual([])
})

// Read while other files run, for the test of all queries, which runs alone after them.
test('the queries of the server that declare their rows are found', () => {
  const queries = declaredQueries(inject('statements'))
  expect(queries.length).toBeGreaterThan(50)
  expect(queries.filter(({ columns }) => columns.size > 0).length).toBeGreaterThan(50)
})

/** The titles that are written out in a file. Titles that a loop makes up are left out. */
function titlesIn(file: string) {
  const text = readFileSync(join(import.meta.dirname, file), 'utf8')
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest)
  const titles: string[] = []
  const visit = (node: ts.Node) => {
    ts.forEachChild(node, visit)
    if (!ts.isCallExpression(node) || !isTest(node.expression)) return
    const [title] = node.arguments
    if (title && (ts.isStringLiteral(title) || ts.isTemplateLiteral(title)))
      titles.push(title.getText(source).slice(1, -1))
  }
  visit(source)
  return titles
}

/** Whether a function is `test`, `test.each(…)` and the like. */
function isTest(callee: ts.Expression): boolean {
  if (ts.isIdentifier(callee)) return callee.text === 'test'
  if (ts.isPropertyAccessExpression(callee) || ts.isCallExpression(callee))
    return isTest(callee.expression)
  return false
}
