import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createChatClient } from '@parley/client'
import { createChatServer } from '@parley/client/server'
import { idOf } from '@parley/server/features/imports/records'
import { expect, onTestFinished, test } from 'vitest'
import { at } from './imports/records.ts'
import { examplesOf, runExamples } from './support/examples.ts'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

/** Stands for `v5` of the package `uuid`, for the names that imports have. */
const v5 = (name: string, appId: string) => {
  const [kind = '', id = ''] = name.split(':')
  return idOf(appId, kind as 'channel' | 'message', id) // one of the two
}

test('the examples for authentication work as they are', async () => {
  const { url, apiKey } = world()
  const given = { createChatServer, createChatClient, url, apiKey }
  const names = ['chat', 'after', 'wsUrl']
  const { chat, after, wsUrl } = await runExamples(
    examplesOf('docs/authentication.md'),
    given,
    names,
  )
  onTestFinished(() => chat.disconnect())
  expect(after.status).toBe(401)
  expect(wsUrl).toMatch(/^ws/)
})

test('the examples for custom data work as they are', async () => {
  const { url, apiKey } = world()
  const given = { createChatServer, url, apiKey }
  const names = ['order', 'packed', 'shipped', 'cleared']
  const results = await runExamples(examplesOf('docs/custom-data.md'), given, names)
  expect(results.order.custom).toEqual({ orderId: 7, stage: 'new' })
  expect(results.packed.attachments[0].custom).toEqual({ camera: 'dock 3' })
  expect(results.shipped.custom).toEqual({ stage: 'shipped', carrier: { name: 'Post' } })
  expect(results.cleared.custom).toBeUndefined()
})

test('the id of an imported channel is the UUID of its name, version 5', () => {
  const appId = '019c9b1d-11aa-7b2c-8c3d-4e5f60718293'
  expect(idOf(appId, 'channel', 'kitchen')).toBe('5306fe37-eca1-5f65-9cad-887e31f962c0')
})

test('the examples for imports work as they are', async () => {
  const { url, operator } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name: 'Moved' })
  const folder = mkdtempSync(join(tmpdir(), 'parley-import-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'parley.jsonl'), '{"record":"user","id":"cem"}\n')
  const given = {
    ...{ createChatServer, v5, url, apiKey, appId },
    createReadStream: (name: string) => createReadStream(join(folder, name)),
  }
  const names = ['report', 'messages', 'again', 'fromFile']
  const results = await runExamples(examplesOf('docs/import.md'), given, names)
  expect(results.report).toMatchObject({ lines: 10, isFinished: true, refused: 0 })
  expect(results.messages).toMatchObject([
    { id: v5('message:m1', appId), text: 'Soup?', replyCount: 1, pinned: true },
    { id: v5('message:m2', appId), text: 'Please!' },
  ])
  expect(results.again).toMatchObject({
    skipped: { users: 1 },
    refusals: [{ line: 2, reason: 'channelId: unknown channel' }],
  })
  expect(results.fromFile).toMatchObject({ imported: { users: 1 } })
})

test('the program in the guide for migrations makes direct messages of pairs', async () => {
  const { toDirect } = await runExamples(examplesOf('docs/migration.md'), {}, ['toDirect'])
  const place = { channelId: 'pair', joinedAt: at(1) }
  const records = toDirect([
    { record: 'user', id: 'ana' },
    { record: 'user', id: 'ben' },
    { record: 'channel', id: 'pair', type: 'group', name: 'pair', createdAt: at(1) },
    { record: 'member', userId: 'ana', ...place },
    { record: 'member', userId: 'ben', ...place },
    { record: 'message', id: 'm', channelId: 'pair', userId: 'ana', text: 'Hi', createdAt: at(2) },
  ])
  const { url, apiKey } = world()
  const report = await createChatServer({ url, apiKey }).imports.run(records)
  expect(report).toMatchObject({ refused: 0, isFinished: true, imported: { messages: 1 } })
  const ana = world().api({ apiKey, userId: 'ana' })
  const { channels } = await ana.channels.list({})
  const direct = channels.filter(({ type }) => type === 'messaging')
  expect(direct).toMatchObject([{ memberCount: 2, name: 'ben' }])
})
