import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'vite'
import { expect, test } from 'vitest'
import { type Defect, readDefects, readScore, root, scoreOf, withDefect } from './mutations/list.ts'
import { openVerdicts } from './mutations/verdicts.ts'

const defects = readDefects()
const verdicts = openVerdicts()

test('every planted defect still has its place, and is TypeScript if its file is', () => {
  const source = { text: '', file: '' }
  const bad = defects.filter((defect) => {
    if (source.file !== defect.file) source.text = readFileSync(join(root, defect.file), 'utf8')
    source.file = defect.file
    const text = withDefect(source.text, defect)
    // Defects in SQL or YAML are checked when they are planted, by the programs that read them.
    return /\.ts$/.test(defect.file) && parseSync(defect.file, text).errors.length > 0
  })
  expect(bad.map(({ id }) => id)).toEqual([])
})

test('every planted defect differs from the others, and its test files exist', () => {
  const planted = defects.map(({ file, find, replace }) => JSON.stringify([file, find, replace]))
  expect(new Set(planted).size).toBe(planted.length)
  const missing = defects
    .flatMap(({ tests }) => tests)
    .filter((file) => !existsSync(join(root, file)))
  expect(missing).toEqual([])
})

test('every planted defect that no test catches has a reason', () => {
  const survivors = defects.filter((defect) => verdicts.of(defect) === false)
  expect(survivors.filter(({ survives }) => survives === undefined)).toEqual([])
})

test('no more than one planted defect in twenty survives, in any area', () => {
  const known = scoreOf(defects, ({ survives }) => survives === undefined)
  for (const [area, { caught, planted }] of Object.entries(known))
    expect(caught / planted, area).toBeGreaterThanOrEqual(0.95)
})

test('the committed mutation score matches the list of defects', () => {
  expect(readScore()).toEqual(scoreOf(defects, (defect) => verdicts.of(defect) === true))
})

test('a defect whose text is gone, or occurs twice, is refused', () => {
  const defect: Defect = {
    id: 'http:1',
    area: 'http',
    file: 'a.ts',
    find: 'a < b',
    replace: '$& a <= b',
    tests: ['test/a.test.ts'],
    note: 'one too many',
  }
  expect(withDefect('if (a < b) return', defect)).toBe('if ($& a <= b) return')
  expect(() => withDefect('if (b) return', defect)).toThrow('occurs 0 times')
  expect(() => withDefect('a < b || a < b', defect)).toThrow('occurs 2 times')
})
