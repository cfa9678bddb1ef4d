import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './support/consumer.ts'
import { projectFiles } from './support/copy.ts'

const TEXT = /\.(?:tsx?|js|css|md|proto|ya?ml)$|^\.ci\/run$|^\.env\.example$|Dockerfile$/
const CODE = /\.(?:tsx?|js|css)$/
const GENERATED = new Set([
  ...['types.ts', 'operations.ts', 'user-operations.ts'].map(
    (name) => `client-sdk/generated/${name}`,
  ),
  'docs/sdk-reference.md',
])

const files = projectFiles()
  .filter((file) => TEXT.test(file) && !GENERATED.has(file))
  .map((file) => ({ file, lines: readFileSync(join(root, file), 'utf8').trimEnd().split('\n') }))

/** Rows of a table cannot be wrapped, and neither can an address. */
const cannotWrap = (line: string) => line.startsWith('|') || /https?:\/\/\S{60}/.test(line)

test('no line of code, prose or settings has more than 100 columns', () => {
  expect(files.length).toBeGreaterThan(500)
  const wide = files.flatMap(({ file, lines }) =>
    lines.flatMap((line, index) =>
      [...line].length > 100 && !cannotWrap(line) ? [`${file}:${index + 1}`] : [],
    ),
  )
  expect(wide).toEqual([])
})

test('no line of code has two loops or conditions', () => {
  const one = /^\s*(?:\} )?(?:else )?(?:for|if|while) (?:await )?\(.*\)/.source
  const two = new RegExp(`${one} (?:for|if|while) (?:await )?\\(`)
  const choice = new RegExp(`${one} [^{]*[^?]\\? .* : `)
  const nested = files.flatMap(({ file, lines }) =>
    lines.flatMap((line, index) =>
      CODE.test(file) && (two.test(line) || choice.test(line)) ? [`${file}:${index + 1}`] : [],
    ),
  )
  expect(nested).toEqual([])
})

test('the row type of a query stands on the line of its tag', () => {
  const torn = files.flatMap(({ file, lines }) =>
    lines.flatMap((line, index) => (/^\s*>`/.test(line) ? [`${file}:${index + 1}`] : [])),
  )
  expect(torn).toEqual([])
})

/** Lines of statements that hold more than one of their clauses, columns or conditions. */
const crowded = {
  'a whole statement': /\w`(?:select|insert|update|delete \w+) .*\b(?:from|set|values|where)\b/,
  'the end of a query and the next one': /^\s*\), \w+ as (?:materialized )?\(/,
  'the first of many columns': /^\s*(?:select(?! distinct on)|set) [^`]*,$/,
  'two conditions': /^\s*where (?!.* between ).* and /,
  'an operator without spaces': /\S->>?['\d]/,
}
/** The beginnings of the first lines of most statements and fragments. */
const CLAUSE = /^\s*(?:with|select|insert|update|delete|join|left|case|coalesce|[a-z]+\.\w+,)\b/
const indentOf = (line = '') => line.length - line.trimStart().length

test('SQL has one clause a line, two columns deeper than the line that begins it', () => {
  const statements = files.filter(({ file }) => /^server\/.*\.ts$/.test(file))
  const wrong = statements.flatMap(({ file, lines }) =>
    lines.flatMap((line, index) => {
      const next = lines[index + 1]
      const isShifted =
        /[\w>]`$/.test(line) && CLAUSE.test(next ?? '') && indentOf(next) !== indentOf(line) + 2
      const faults = Object.entries(crowded).flatMap(([fault, pattern]) =>
        pattern.test(line) && !/^\s*(?:\/\/|\/?\*)/.test(line) ? [fault] : [],
      )
      return [...faults, ...(isShifted ? ['the indentation of the next line'] : [])].map(
        (fault) => `${file}:${index + 1}: ${fault}`,
      )
    }),
  )
  expect(wrong).toEqual([])
})

test('most files of code are short, and at most eight have more than 250 lines', () => {
  const sizes = files.flatMap(({ file, lines }) => (CODE.test(file) ? [lines.length] : []))
  sizes.sort((a, b) => a - b)
  expect(sizes.at(-1)).toBeLessThanOrEqual(350)
  expect(sizes.filter((size) => size > 250).length).toBeLessThanOrEqual(8)
  expect(sizes[Math.floor(sizes.length / 2)]).toBeLessThanOrEqual(90)
})
