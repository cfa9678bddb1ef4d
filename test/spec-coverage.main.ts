import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { specification } from './spec-coverage.ts'
import { pageOf, problemsOf } from './support/coverage.ts'

/** Writes SPEC-COVERAGE.md; with `--check` only tells whether it is what spec-coverage.ts says. Every test it names has to exist. */
const file = join(import.meta.dirname, 'SPEC-COVERAGE.md')
const page = pageOf(specification)
const problems = problemsOf(specification, testNames())
const isCheck = process.argv.includes('--check')
const isOld = isCheck && readFileSync(file, 'utf8') !== page

for (const problem of problems) console.error(problem)
if (isOld) console.error('test/SPEC-COVERAGE.md is not what test/spec-coverage.ts says: run `npm run coverage:spec` and commit the result')
if (problems.length > 0 || isOld) process.exitCode = 1
else if (!isCheck) writeFileSync(file, page)

/** All tests there are, as `file › group > test`, read without running anything. */
function testNames() {
  const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
  const list = execFileSync(process.execPath, [vitest, 'list', '--config', join(import.meta.dirname, 'vitest.config.ts'), '--static-parse', '--json'])
  const tests: { file: string; name: string }[] = JSON.parse(list.toString())
  const nounOf = (file: string) =>
    relative(import.meta.dirname, file)
      .replace('.test.ts', '')
      .replaceAll(sep, '/')
  return tests.map(({ file, name }) => `${nounOf(file)} › ${name}`)
}
