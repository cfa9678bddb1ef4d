import { type ExecFileException, execFile } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limits } from '@parley/contract'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { root } from './support/consumer.ts'

type Job = { permissions: Record<string, string>; steps: { name?: string; run?: string }[] }
const text = readFileSync(join(root, '.github/workflows/release.yml'), 'utf8')
const { jobs } = parse(text) as { jobs: Record<'packages' | 'image', Job> }
const scripts = jobs.packages.steps.flatMap(({ run }) => run ?? [])

function scriptWith(part: string) {
  const [script, ...others] = scripts.filter((run) => run.includes(part))
  if (script === undefined || others.length > 0) throw new Error(`not one step with ${part}`)
  return script
}

/** Runs a step as the workflow does, for a tag, in a folder with what a checkout has. */
function run(script: string, tag: string) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-release-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const file of ['package.json', 'CHANGELOG.md'])
    copyFileSync(join(root, file), join(folder, file))
  const options = { cwd: folder, env: { PATH: process.env.PATH, GITHUB_REF_NAME: tag } }
  return new Promise<{ code: ExecFileException['code']; said: string }>((resolve) => {
    execFile('bash', ['-e', '-c', script], options, (error, said) =>
      resolve({ code: error?.code ?? 0, said }),
    )
  })
}

const isWindows = process.platform === 'win32'
const tag = `v${limits.apiVersion}`

test.skipIf(isWindows)('only the tag of the version of the packages is released', async () => {
  const script = scriptWith('package.json')
  expect(await run(script, tag)).toMatchObject({ code: 0 })
  for (const other of ['v0.0.9', `${tag}0`, 'nightly'])
    expect(await run(script, other)).toMatchObject({ code: 1 })
})

test.skipIf(isWindows)(
  'the notes of a release are exactly the section of its version in the changelog',
  async () => {
    const script = scriptWith('CHANGELOG.md')
    const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
    const [, after = ''] = changelog.split(`\n## ${limits.apiVersion} `)
    const [section = ''] = after.split('\n## ')
    const { code, said } = await run(script, tag)
    expect(code).toBe(0)
    expect(said.trim()).toBe(section.slice(section.indexOf('\n')).trim())
    expect(said.length).toBeLessThan(125_000) // what GitHub takes
    expect((await run(script, 'v0.0.9')).code).not.toBe(0)
  },
)

test('every package is published, what others need first, with its origin attested', () => {
  const [, names = ''] = /for name in ([a-z ]+); do npm publish/.exec(scriptWith('publish')) ?? []
  const published = names.split(' ').map((name) => `@parley/${name}`)
  const manifests = ['contract', 'client-sdk', 'server'].map((folder) =>
    JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')),
  )
  expect([...published].sort()).toEqual(manifests.map(({ name }) => name).sort())
  for (const { name, dependencies = {} } of manifests)
    for (const needed of Object.keys(dependencies).filter((other) => published.includes(other)))
      expect(published.indexOf(needed)).toBeLessThan(published.indexOf(name))
  expect(jobs.packages.permissions).toMatchObject({ 'id-token': 'write' })
  // The checks run before anything is published, and the list of components is in the release.
  const order = ['.ci/run', 'npm sbom', 'npm publish', 'gh release create'].map((part) =>
    scripts.findIndex((script) => script.includes(part)),
  )
  expect(order).toEqual([...order].sort((one, other) => one - other))
  expect(order).not.toContain(-1)
  expect(scriptWith('gh release')).toContain(/> (\S+)$/.exec(scriptWith('npm sbom'))?.[1])
})
