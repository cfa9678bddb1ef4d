import { spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { root } from './consumer.ts'

/** A folder for each test that is linted as this repository is, with the files that it writes. */
export function useLintedFolder() {
  let tree = ''
  beforeEach(() => {
    tree = realpathSync(mkdtempSync(join(tmpdir(), 'parley-rules-')))
    for (const path of ['biome.json', 'package.json', 'test/rules'])
      cpSync(join(root, path), join(tree, path), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'), 'junction')
  })
  afterEach(() => rmSync(tree, { recursive: true }))

  const write = (files: Record<string, string>) => {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(tree, file)), { recursive: true })
      writeFileSync(join(tree, file), text)
    }
  }
  /** Where a rule of biome.json was broken, as `file:line`. */
  const findings = (rule: string) => {
    const biome = join(root, 'node_modules/@biomejs/biome/bin/biome')
    const { stdout } = spawnSync(
      process.execPath,
      [biome, 'lint', '--reporter=github', '--max-diagnostics=none', '.'],
      { cwd: tree, encoding: 'utf8' },
    )
    const found = [...stdout.matchAll(/title=([^,]+),file=([^,]+),line=(\d+)/g)].filter(
      ([, title]) => title === rule,
    )
    return found.map(([, , file = '', line]) => `${relative(tree, file)}:${line}`).sort()
  }
  /** Runs a part of the check there. */
  const check = (part: 'lint' | 'cycles') =>
    spawnSync('npm', ['run', `check:${part}`], { cwd: tree, encoding: 'utf8', shell: true })
  return { write, findings, check }
}
