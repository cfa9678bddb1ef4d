import { runCommand } from '@parley/server/commands/index'
import { setUpPush } from '@parley/server/jobs/push/setup'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { serveProvider } from './support/provider.ts'

let provider: Awaited<ReturnType<typeof serveProvider>>
beforeAll(async () => {
  provider = await serveProvider()
})
afterAll(() => provider.stop())
afterEach(() => vi.unstubAllEnvs())

test('setup:push creates missing workflows by their configured ids, and keeps others', async () => {
  const existing = new Set(['mention'])
  const statusOf = (method: string, path: string) => {
    if (method === 'POST') return 201
    return existing.has(path.split('/').at(-1) ?? '') ? 200 : 404
  }
  provider.behave((response, { method, path, body }) => {
    if (method === 'POST') existing.add(String(body.workflowId))
    response.writeHead(statusOf(method, path)).end('{}')
  })
  const push = {
    ...provider.settings,
    workflows: { ...provider.settings.workflows, reaction: 'acme-reaction' },
  }
  const lines: string[] = []
  await setUpPush(push, (line) => lines.push(line))
  expect(lines).toEqual([
    'new-message: created',
    'mention: exists',
    'channel-invite: created',
    'acme-reaction: created',
    'thread-reply: created',
  ])
  const created = provider.calls.filter(({ method }) => method === 'POST')
  expect(created.map(({ path }) => path)).toEqual(Array(4).fill('/v2/workflows'))
  const fields = created.map(({ body: { payloadSchema } }) =>
    Object.keys(Object(payloadSchema).properties).join(' '),
  )
  expect(fields).toEqual([
    'senderId senderName senderAvatar channelId channelName messagePreview messageId',
    'invitedBy invitedByName channelId channelName channelDescription',
    'reactorId reactorName emoji channelId messagePreview messageId',
    'replierId replierName channelId channelName threadId replyPreview',
  ])
  // A field that a text names and its payload lacks would be empty on the phones.
  const named = created.map(({ body: { steps } }) =>
    Array.from(JSON.stringify(steps).matchAll(/payload\.(\w+)/g), ([, field]) => field),
  )
  for (const [index, names] of named.entries())
    expect(fields[index]?.split(' ')).toEqual(expect.arrayContaining(names))
  expect(created[0]?.body).toMatchObject({
    workflowId: 'new-message',
    active: true,
    payloadSchema: {
      properties: { senderId: { type: 'string' }, messagePreview: { type: 'string' } },
    },
    steps: [{ type: 'push', controlValues: { body: '{{payload.messagePreview}}' } }],
  })
  provider.forget()
  await setUpPush(push, () => {})
  expect(provider.calls.filter(({ method }) => method === 'POST')).toEqual([])
})

test('setup:push fails when the provider refuses', async () => {
  provider.behave(provider.answer(401))
  await expect(setUpPush(provider.settings, () => {})).rejects.toThrow('401')
})

test('a failed parley setup-push says in one line which setting to look at', async () => {
  const { apiUrl } = provider.settings
  vi.stubEnv('PUSH_SECRET_KEY', 'a-secret-of-the-provider')
  const lines: string[] = []
  const print = vi.spyOn(console, 'error').mockImplementation((line) => void lines.push(line))
  const page = `<!doctype html>\n<p>${'nobody here '.repeat(99)}</p>`
  for (const [url, status] of [
    ['http://127.0.0.1:1', 0],
    [apiUrl, 401],
    [apiUrl, 418],
  ] as const) {
    vi.stubEnv('PUSH_API_URL', url)
    provider.behave((response) => void response.writeHead(status).end(page))
    expect(await runCommand(['setup-push'])).toBe(1)
  }
  print.mockRestore()
  expect(lines).toEqual([
    'PUSH_API_URL: no push provider answers at http://127.0.0.1:1 (bad port)',
    `PUSH_SECRET_KEY: refused by the push provider at ${apiUrl} (401)`,
    `PUSH_API_URL: ${apiUrl} does not answer like a push provider (418)`,
  ])
})
