import type { Expression, Node, SourceFile } from 'typescript-native/unstable/ast'
import {
  isCallExpression,
  isIdentifier,
  isPropertyAccessExpression,
  isStringLiteral,
  isTemplateLiteral,
} from 'typescript-native/unstable/ast/is'
import type { Project } from 'typescript-native/unstable/sync'
import { withCompiler } from './support/compiler.ts'

// `npm run check:titles`: no two tests share one title, so that a title says which has failed.
const places = new Map<string, string[]>()
const read = ({ program }: Project) => {
  for (const file of program.getSourceFileNames().filter(isTestFile))
    for (const title of titlesIn(program.getSourceFile(file)))
      places.set(title, [...(places.get(title) ?? []), file])
}
withCompiler('tsconfig.json', read)
withCompiler('test/browser/tsconfig.json', read)
withCompiler('test/pages/tsconfig.json', read)
const shared = [...places].filter(([, files]) => files.length > 1)
for (const [title, files] of shared) console.error(`${title}\n  ${files.join('\n  ')}`)
if (shared.length > 0) process.exitCode = 1
// A check that finds no tests finds no faults either.
if (places.size < 300) throw new Error(`only ${places.size} titles were found`)

function isTestFile(file: string) {
  return /\.(test|long|browser)\.ts$/.test(file) && !file.includes('node_modules')
}

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
