import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** `npm run new-epoch` on that database. */
const newEpoch = (databaseUrl: string) => {
  const main = fileURLToPath(new URL('../server/bin/new-epoch.ts', import.meta.url))
  const tsx = createRequire(import.meta.url).resolve('tsx')
  const env = { PATH: process.env.PATH, DATABASE_URL: databaseUrl }
  return promisify(execFile)(
    process.execPath,
    ['--conditions=parley-source', '--import', tsx, main],
    { env },
  )
}
const epochs = () => world().db<{ value: string }[]>`
  select value
  from service
  where key = 'epoch'`

test('every new epoch differs from the ones before', async () => {
  const seen = [(await epochs())[0]?.value]
  for (const _ of [1, 2]) {
    const { stdout } = await newEpoch(world().databaseUrl)
    const [epoch, ...others] = await epochs()
    expect(stdout).toBe(`New event epoch: ${epoch?.value}\n`)
    expect(others).toEqual([])
    seen.push(epoch?.value)
  }
  expect(new Set(seen).size).toBe(3)
})

test('new-epoch reports an unreachable database in one line', async () => {
  await expect(newEpoch('postgres://parley:hunter2@localhost:1/parley')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^The event epoch was not changed: .*ECONNREFUSED[^\n]*\n$/),
  })
})
