import { execFile } from 'node:child_process'
import { expect, test } from 'vitest'
import { root } from './support/consumer.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** Runs an example as `docs/bots.md` does: its exit code, and the lines that it printed. */
const run = (example: string, variables: Record<string, string>) =>
  new Promise<[unknown, string[]]>((resolve) => {
    const program = ['--conditions=parley-source', '--import', 'tsx', `examples/${example}/main.ts`]
    const env = { PATH: process.env.PATH, URL: world().url, ...variables }
    const options = { cwd: root, env, timeout: 120_000 }
    execFile(process.execPath, program, options, (error, stdout, stderr) =>
      resolve([error?.code ?? error?.signal, (stdout + stderr).trimEnd().split('\n')]),
    )
  })

const noKey = [1, ['API_KEY: expected the key of an app, such as the Demo API key']]

test('an example without a key says so, and ends', async () => {
  expect(await run('bot', {})).toEqual(noKey)
  expect(await run('backend', { API_KEY: '' })).toEqual(noKey)
})

test('the example bot says that its server refuses it or is away, and ends', async () => {
  expect(await run('bot', { API_KEY: 'pk_wrong' })).toEqual([
    1,
    ['X-API-Key: expected a valid API key'],
  ])
  expect(await run('bot', { API_KEY: 'pk_any', URL: 'http://127.0.0.1:1' })).toEqual([
    1,
    ['unable to reach http://127.0.0.1:1'],
  ])
})

test('the example backend says in one line why it does not start', async () => {
  // The server does not allow webhooks to this machine.
  const [code, lines] = await run('backend', { API_KEY: world().apiKey })
  expect(code).toBe(1)
  expect(lines).toHaveLength(1)
})
