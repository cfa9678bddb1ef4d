import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { root } from './consumer.ts'

/** The examples of a page in a language, TypeScript by default. */
export const examplesOf = (page: string, language = 'ts') =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/```(\w+)\n([\s\S]*?)```/g)].flatMap(
    ([, name, block = '']) => (name === language ? [block] : []),
  )

/**
 * Runs examples as one program, with these variables for their imports; returns the values of the
 * variables that `results` names.
 */
export async function runExamples(
  examples: string[],
  given: Record<string, unknown>,
  results: string[],
) {
  const statements = examples
    .map((block) =>
      block
        .replace(/^import [^']*'.*'$/gm, '')
        .replace(/^export (default )?(?=function|const)/gm, ''),
    )
    .filter((block) => !block.trimStart().startsWith('declare '))
  const code = statements.join('\n')
  const body = `(async () => {\n${code}\nreturn { ${results.join(', ')} }\n})()`
  const { outputText } = ts.transpileModule(body, {
    // Of an example with elements.
    fileName: body.includes('</') ? 'example.tsx' : 'example.ts',
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      jsx: ts.JsxEmit.React,
    },
  })
  const run = new Function(...Object.keys(given), `return ${outputText}`)
  return run(...Object.values(given))
}
