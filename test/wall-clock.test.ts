import { expect, test } from 'vitest'
import { useLintedFolder } from './support/lint.ts'

const { write, findings } = useLintedFolder()

const READINGS = [
  'export const a = Date.now()',
  'export const b = new Date()',
  'export const c = new Date',
  'export const d = Date()',
  'export const e = [].map(Date.now)',
  'export const f = () => new Date(Date.now() + 1)',
  'export const g = globalThis.Date.now()',
].join('\n')

test('delivered code may not read the wall clock, and each reading is reported once', () => {
  const files = ['contract/polls.ts', 'server/core/polls.ts', 'client-sdk/react/polls.tsx']
  write(Object.fromEntries(files.map((file) => [file, READINGS])))
  const lines = files.flatMap((file) => [1, 2, 3, 4, 5, 6, 7].map((line) => `${file}:${line}`))
  expect(findings('plugin')).toEqual(lines.sort())
})

test('times from elsewhere are no readings of the clock, and some files may read it', () => {
  write({
    'server/polls.ts': `
      export const times = [new Date(row.createdAt), Date.parse(text), performance.now()]
      export type Dated = Date`,
    'server/core/signed-tokens.ts': READINGS,
    'client-sdk/playground/message-tools.tsx': READINGS,
    'test/polls.test.ts': READINGS,
    'server/refused.ts': READINGS.slice(0, READINGS.indexOf('\n')),
  })
  expect(findings('plugin')).toEqual(['server/refused.ts:1'])
})
