import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDataFolder } from './support/folders.ts'
import { freePort } from './support/ports.ts'
import { bundled, production, useChildren } from './support/start.ts'
import { until } from './support/until.ts'
import { useWorld } from './support/world.ts'

const directory = createDataFolder('lost-output')
const world = useWorld()
const children = useChildren()
const exported = join(directory, 'stream.jsonl')
beforeAll(() => {
  const lineOf = (id: string) => JSON.stringify({ type: 'user', item: { id, name: 'Ana' } })
  const ids = Array.from({ length: 10_000 }, (_, n) => `user-${n}`)
  writeFileSync(exported, ids.map(lineOf).join('\n'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

type Output = 'full' | 'closed'

/** Runs a command whose output is a disk without room, or a pipe without a reader. */
function run(command: string[], output: Output, variables: Record<string, string> = {}) {
  const stdout = output === 'full' ? openSync('/dev/full', 'w') : 'pipe'
  const child = spawn(process.execPath, bundled(...command), {
    cwd: directory,
    env: { PATH: process.env.PATH, DATABASE_URL: world().databaseUrl, PORT: '0', ...variables },
    stdio: ['ignore', stdout, 'pipe'],
  })
  if (typeof stdout === 'number') closeSync(stdout)
  child.stdout?.destroy()
  children.adopt(child)
  let said = ''
  child.stderr?.on('data', (data) => (said += data))
  const ended = once(child, 'close').then(([code]) => ({ code, said }))
  return { child, ended }
}

const noRoom = /^The output was lost: ENOSPC: no space .+\n$/
const lost = { code: 1, said: expect.stringMatching(noRoom) }

/** Commands that do more than print, or that print little. */
const commands = [['check'], ['migrate'], ['new-epoch', '--force'], ['--help'], ['--version']]

test.runIf(existsSync('/dev/full')).for(commands)(
  'parley %s on a full disk fails with one line that says so',
  async (command) => {
    expect(await run(command, 'full').ended).toEqual(lost)
  },
)

test.for(commands)('parley %s goes on to its end when its output is not read', async (command) => {
  expect(await run(command, 'closed').ended).toEqual({ code: 0, said: '' })
})

test.runIf(existsSync('/dev/full'))(
  'an export or a conversion onto a full disk fails with one line that says so',
  async () => {
    const { appId } = world()
    const { code, said } = await run(['app:export', appId, '-'], 'full').ended
    expect([code, said.trimEnd().split('\n')]).toEqual([1, [expect.stringMatching(/ENOSPC/)]])
    expect(await run(['convert', 'stream-export', exported], 'full').ended).toEqual(lost)
  },
)

test('a conversion whose output is not read any more ends with one line that says so', async () => {
  expect(await run(['convert', 'stream-export', exported], 'closed').ended).toEqual({
    code: 1,
    said: 'The output was lost: write EPIPE\n',
  })
})

test.for(['full', 'closed'] as const)(
  'a server in development whose output is %s serves, and stops when asked to',
  async (output, { skip }) => {
    skip(output === 'full' && !existsSync('/dev/full'), 'no device is always full')
    const port = String(await freePort())
    const { JWT_SECRET, ADMIN_API_KEY } = production
    const { child, ended } = run(['start'], output, {
      HOST: '127.0.0.1',
      PORT: port,
      JWT_SECRET,
      ADMIN_API_KEY,
    })
    const isHealthy = () =>
      fetch(`http://127.0.0.1:${port}/health`).then(
        ({ ok }) => ok,
        () => false,
      )
    await until(isHealthy)
    child.kill('SIGTERM')
    expect((await ended).code).toBe(0)
  },
)
