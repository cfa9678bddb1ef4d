import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { addPolls, copyProject } from '../support/noun.ts'

test('a noun that is added by the list of CONTRIBUTING.md passes the checks and its tests', () => {
  const tree = copyProject()
  onTestFinished(() => rmSync(tree, { recursive: true }))
  const npm = (...args: string[]) =>
    execFileSync('npm', ['run', '--silent', ...args], {
      cwd: tree,
      encoding: 'utf8',
      stdio: 'pipe',
    })

  expect(() => npm('check:types')).not.toThrow()
  addPolls(tree)
  npm('migration', '--', '--name', 'polls')
  npm('openapi')
  npm('client')
  npm('check')
  npm('test', '--', 'polls', 'rights')
})
