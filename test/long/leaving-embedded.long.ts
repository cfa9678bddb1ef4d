import { execFile } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createApi } from '@parley/client/api'
import { expect, onTestFinished, test } from 'vitest'
import { createDataFolder } from '../support/folders.ts'
import { createEmptyDatabase } from '../support/migrations.ts'
import { bundled, production, useChildren } from '../support/start.ts'

const { start } = useChildren()

/** As docs/install.md has it. */
test('apps leave the embedded database with their history, and tokens and keys go on', async () => {
  const folder = createDataFolder('leaving-embedded')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const old = start({}, folder)
  const [oldUrl, address] = [await old.url(), await old.value('Database')]
  const apiKey = await old.value('Demo API key')
  const { token } = await createApi({ url: oldUrl, apiKey }).tokens.create({ userId: 'ana' })
  const before = createApi({ url: oldUrl, token })
  const { id: channelId } = await before.channels.create({ type: 'group', name: 'Kitchen' })
  await before.messages.send({ channelId, text: 'Moving' })
  const adminKey = await old.value('Admin key')
  const { apps } = await createApi({ url: oldUrl, adminKey }).apps.list()

  const database = await createEmptyDatabase()
  const parley = (DATABASE_URL: string, ...command: string[]) => {
    const env = { PATH: process.env.PATH, DATABASE_URL }
    return promisify(execFile)(process.execPath, bundled(...command), { cwd: folder, env })
  }
  await parley(database, 'migrate')
  for (const { id } of apps) {
    const file = join(folder, `${id}.jsonl`)
    await parley(address, 'app:export', id, file, '--with-secrets')
    await parley(database, 'app:import', file)
  }
  old.kill('SIGTERM')
  expect(await old.code).toBe(0)

  const secrets = JSON.parse(readFileSync(join(folder, '.data/secrets.json'), 'utf8'))
  const url = await start(
    {
      ...production,
      DATABASE_URL: database,
      JWT_SECRET: secrets.jwtSecret,
      ADMIN_API_KEY: secrets.adminKey,
    },
    folder,
  ).url()
  const { messages } = await createApi({ url, token }).messages.list({ channelId })
  expect(messages.map(({ text }) => text)).toEqual(['Moving'])
  const minted = await createApi({ url, apiKey }).tokens.create({ userId: 'ana' })
  expect(minted.user.id).toBe('ana')
  expect((await createApi({ url, adminKey }).apps.list()).apps.map(({ id }) => id)).toEqual(
    apps.map(({ id }) => id),
  )
})
