import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { installPacked } from '../support/consumer.ts'
import { forbiddenWords, missingFiles } from '../support/language.ts'

test.each([
  ['contract', '@parley/contract'],
  ['client-sdk', '@parley/client'],
] as const)('the published declarations of %s are in plain English', async (workspace, name) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-declarations-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  await installPacked(workspace, folder)
  const dist = join(folder, 'node_modules', name, 'dist')
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' })
  const declarations = files
    .filter((file) => file.endsWith('.d.ts'))
    .map((file) => ({
      name: `${workspace}/${file}`,
      text: readFileSync(join(dist, file), 'utf8'),
    }))
  expect(declarations.map((each) => each.name)).toContain(`${workspace}/index.d.ts`)
  expect(declarations.length).toBeGreaterThan(20)
  expect(declarations.flatMap(forbiddenWords)).toEqual([])
  expect(declarations.flatMap(missingFiles)).toEqual([])
})
