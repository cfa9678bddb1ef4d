import { setUpPush } from '@parley/server/jobs/push/setup'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serveProvider } from './support/provider.ts'

let provider: Awaited<ReturnType<typeof serveProvider>>
beforeAll(async () => {
  provider = await serveProvider()
})
afterAll(() => provider.stop())

test('the five workflows are created where they are missing, under their configured names', async () => {
  const there = new Set(['mention'])
  provider.behave((response, { method, path, body }) => {
    if (method === 'POST') there.add(String(body.workflowId))
    response
      .writeHead(method === 'POST' ? 201 : there.has(path.split('/').at(-1) ?? '') ? 200 : 404)
      .end('{}')
  })
  const push = {
    ...provider.settings,
    workflows: { ...provider.settings.workflows, reaction: 'acme-reaction' },
  }
  const said: string[] = []
  await setUpPush(push, (line) => said.push(line))
  expect(said).toEqual([
    'new-message: created',
    'mention: is there',
    'channel-invite: created',
    'acme-reaction: created',
    'thread-reply: created',
  ])
  const created = provider.calls.filter(({ method }) => method === 'POST')
  expect(created.map(({ path }) => path)).toEqual(Array(4).fill('/v2/workflows'))
  expect(created[0]?.body).toMatchObject({
    workflowId: 'new-message',
    payloadSchema: {
      properties: { senderId: { type: 'string' }, messagePreview: { type: 'string' } },
    },
    steps: [{ type: 'push', controlValues: { body: '{{payload.messagePreview}}' } }],
  })
  provider.forget()
  await setUpPush(push, () => {})
  expect(provider.calls.filter(({ method }) => method === 'POST')).toEqual([])
})

test('a provider that refuses is told of', async () => {
  provider.behave(provider.answer(401))
  await expect(setUpPush(provider.settings, () => {})).rejects.toThrow('401')
})
