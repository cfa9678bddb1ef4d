import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { root } from './support/consumer.ts'

test('packing says which files it has made, and in JSON what is in them', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-pack-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const pack = (...options: string[]) => {
    const args = ['pack.js', folder, 'contract', '--ignore-scripts', ...options]
    return execFileSync(process.execPath, args, { cwd: root }).toString()
  }
  const text = pack()
  const [file = ''] = readdirSync(folder)
  expect(text).toBe(`${join(folder, file)}\n`)
  expect(JSON.parse(pack('--json'))).toMatchObject([
    { name: '@parley/contract', filename: file, files: expect.any(Array) },
  ])
})
