import type { Expression, Node, SourceFile } from 'typescript-native/unstable/ast'
import {
  isCallExpression,
  isIdentifier,
  isPropertyAccessExpression,
  isStringLiteral,
  isTemplateLiteral,
} from 'typescript-native/unstable/ast/is'
import type { Project } from 'typescript-native/unstable/sync'
import { expect, inject, test } from 'vitest'
import { withCompiler } from './support/compiler.ts'
import { declaredQueries } from './support/sql/declared.ts'

test('no two tests of the suite share one title', () => {
  const places = new Map<string, string[]>()
  const read = ({ program }: Project) => {
    for (const file of program.getSourceFileNames().filter(isTestFile))
      for (const title of titlesIn(program.getSourceFile(file)))
        places.set(title, [...(places.get(title) ?? []), file])
  }
  withCompiler('tsconfig.json', read)
  withCompiler('test/browser/tsconfig.json', read)
  expect(places.size).toBeGreaterThan(300)
  expect([...places].filter(([, found]) => found.length > 1)).toEqual([])
})

const isTestFile = (file: string) =>
  /\.(test|long|browser)\.ts$/.test(file) && !file.includes('node_modules')

// Read while other files run, for the test of all queries, which runs alone after them.
test('the queries of the server that declare their rows are found', () => {
  const queries = declaredQueries(inject('statements'))
  expect(queries.length).toBeGreaterThan(50)
  expect(queries.filter(({ columns }) => columns.size > 0).length).toBeGreaterThan(50)
})

/** The titles that are written out in a file. Titles that a loop makes up are left out. */
function titlesIn(file: SourceFile | undefined) {
  const titles: string[] = []
  const visit = (node: Node) => {
    node.forEachChild(visit)
    if (!isCallExpression(node) || !isTest(node.expression)) return
    const [title] = node.arguments
    if (title && (isStringLiteral(title) || isTemplateLiteral(title)))
      titles.push(title.getText(file).slice(1, -1))
  }
  file?.forEachChild(visit)
  return titles
}

/** Whether a function is `test`, `test.each(…)` and the like. */
function isTest(callee: Expression): boolean {
  if (isIdentifier(callee)) return callee.text === 'test'
  if (isPropertyAccessExpression(callee) || isCallExpression(callee))
    return isTest(callee.expression)
  return false
}
