import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './support/consumer.ts'

const server = readdirSync(join(root, 'server'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !/node_modules|dist/.test(file))
  .map((file) => ({ file, text: readFileSync(join(root, 'server', file), 'utf8') }))
const tables = server
  .filter(({ file }) => file.includes('schema'))
  .flatMap(({ text }) => [...text.matchAll(/pgTable\(\s*'(\w+)'/g)].map(([, name = '']) => name))

const COMMENT = /^\s*(?:\/\/|\/?\*).*$/gm

const architecture = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
const aliases = new Map(
  architecture
    .split('\n')
    .flatMap((line) => [...line.matchAll(/\| (\w+) \| `(\w+)`(?= \|)/g)])
    .map(([, table = '', alias = '']) => [table, alias]),
)

test('every table has one alias, which no other table has', () => {
  expect([...aliases.keys()].sort()).toEqual(tables.sort())
  expect(new Set(aliases.values()).size).toBe(aliases.size)
})

test('statements call a table by its alias, and a second row of it by a word', () => {
  const named = new RegExp(`\\b(?:from|join|update|into) (${tables.join('|')})(?: as)? (\\w+)`, 'g')
  const uses = server.flatMap(({ file, text }) =>
    [...text.replace(COMMENT, '').matchAll(named)].map(([use, table = '', alias = '']) => ({
      file,
      use,
      table,
      alias,
    })),
  )
  expect(uses.length).toBeGreaterThan(400)
  const short = new Set(aliases.values())
  const isWord = (alias: string) => alias.length > 2 && !short.has(alias)
  const wrong = uses.filter(({ table, alias }) => alias !== aliases.get(table) && !isWord(alias))
  expect(wrong).toEqual([])
})

test('no other relation has the alias of a table', () => {
  const relation = /\b(?:from|join|lateral) (?!lateral\b)([\w.]+)(?:\(.*\))?(?: as)? (\w+)/g
  const tableOf = new Map([...aliases].map(([table, alias]) => [alias, table]))
  const wrong = server.flatMap(({ file, text }) =>
    [...text.replace(COMMENT, '').matchAll(relation)].flatMap(([use, name = '', alias = '']) => {
      const table = tableOf.get(alias)
      // A function that returns rows of a table is named after it.
      const isOfTable = table === undefined || name === table || name.startsWith(`${table}_`)
      return isOfTable ? [] : [{ file, use }]
    }),
  )
  expect(wrong).toEqual([])
})
