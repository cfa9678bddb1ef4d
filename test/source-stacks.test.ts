import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { showSources } from '@parley/server/process/source-stacks'
import { afterAll, beforeAll, expect, test } from 'vitest'

const temporary = mkdtempSync(join(tmpdir(), 'parley-stacks-'))
/** Vitest leaves it to Node.js to load what is there. */
const folder = join(temporary, 'node_modules')
const { prepareStackTrace } = Error
beforeAll(() => {
  mkdirSync(folder)
  showSources()
})
afterAll(() => {
  Error.prepareStackTrace = prepareStackTrace
  rmSync(temporary, { recursive: true })
})

/** The first place in the stack of an error of a module with this source map. */
async function placeWith(name: string, map: string | undefined) {
  const file = join(folder, `${name}.mjs`)
  writeFileSync(file, 'export const fail = () => new Error(`failed`)\n')
  if (map !== undefined) writeFileSync(`${file}.map`, map)
  const { href } = pathToFileURL(file)
  const { fail } = await import(/* @vite-ignore */ href)
  const [title, first = ''] = String(fail().stack).split('\n')
  expect(title).toBe('Error: failed')
  return /(?:\(|at )([^( )]+)\)?$/.exec(first)?.[1]?.replace(/^file:\/\//, '')
}

/** Line 1 is line 7 of the source. */
const mapTo = (source: string) =>
  JSON.stringify({ version: 3, sources: [source], names: [], mappings: 'AAMA' })

test('a stack points to the source of a module wherever it is', async () => {
  expect(await placeWith('mapped', mapTo('mapped.ts'))).toBe(join(folder, 'mapped.ts:7:1'))
})

test('a stack is shown as it is where a source map is missing or wrong', async () => {
  const maps = { none: undefined, broken: '{', number: '7', elsewhere: mapTo('bundle://a/b.ts') }
  for (const [name, map] of Object.entries(maps))
    expect(await placeWith(name, map)).toMatch(new RegExp(`/${name}\\.mjs:1:\\d+$`))
})
