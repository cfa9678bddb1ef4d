import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'

// Of `npm run check:client`, after the build: how compilers and bundlers find the packed client.
const pkgDir = join(import.meta.dirname, '../client-sdk')
const folder = mkdtempSync(join(tmpdir(), 'parley-packed-'))
try {
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
  const options = { cwd: pkgDir, shell: process.platform === 'win32' }
  const [{ filename }] = JSON.parse(execFileSync('npm', args, options).toString())
  const { messages } = await publint({ pkgDir, pack: 'npm', strict: true })
  const tarball = readFileSync(join(folder, filename))
  const analysed = await checkPackage(createPackageFromTarballData(tarball))
  const problems = [...messages, ...('problems' in analysed ? analysed.problems : ['no types'])]
  if (problems.length > 0) throw new Error(`the package: ${JSON.stringify(problems)}`)
} finally {
  rmSync(folder, { recursive: true })
}
