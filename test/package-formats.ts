import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'

// `npm run check:client`, after the build: how compilers and bundlers find the packed client.
const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'parley-packed-'))
try {
  const args = ['pack.js', folder, 'client-sdk', '--ignore-scripts', '--json']
  const output = execFileSync(process.execPath, args, { cwd: root }).toString()
  const [{ filename }] = JSON.parse(output)
  const tarball = readFileSync(join(folder, filename))
  const pack = { tarball: new Uint8Array(tarball).buffer }
  const { messages } = await publint({ pack, strict: true })
  const analysed = await checkPackage(createPackageFromTarballData(tarball))
  const problems = [...messages, ...('problems' in analysed ? analysed.problems : ['no types'])]
  if (problems.length > 0) throw new Error(`the package: ${JSON.stringify(problems)}`)
} finally {
  rmSync(folder, { recursive: true })
}
