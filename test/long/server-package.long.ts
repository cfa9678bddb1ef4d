import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../support/consumer.ts'
import { packages, unpack } from '../support/packed.ts'

test('the packed server has nothing to import, hence no types, as its README says', async () => {
  const project = realpathSync(mkdtempSync(join(tmpdir(), 'parley-server-')))
  onTestFinished(() => rmSync(project, { recursive: true }))
  const packed = (await packages()).filter(({ name }) => name === '@parley/server')
  for (const server of packed) await unpack(server, project)
  const folder = join(project, 'node_modules/@parley/server')
  const read = (file: string) => readFileSync(join(folder, file), 'utf8')

  const { exports, main, types } = JSON.parse(read('package.json'))
  expect({ exports, main, types }).toEqual({ exports: { './package.json': './package.json' } })
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  expect(files.filter((file) => file.endsWith('.d.ts'))).toEqual([])
  const program = `import('@parley/server').catch(({ code }) => console.log(code))`
  const { stdout } = await run(process.execPath, ['--eval', program], { cwd: project })
  expect(stdout).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED\n')
  const readme = read('README.md').replaceAll(/\s+/g, ' ')
  expect(readme).toContain('a program: it has nothing to import, and so no types')
})
