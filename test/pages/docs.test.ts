import type { Operation, Schema } from '@parley/client/internal/docs/documents'
import { openApiJson } from '@parley/server/http/openapi/document'
import { createElement, type ReactNode } from 'react'
import { expect, test, vi } from 'vitest'
import { answerCalls, field, named, usePage } from './page.ts'

const page = usePage()

/** The documents as the page of a development server loads them. */
async function loadDocuments(messages: Record<string, object> = {}) {
  answerCalls(({ path }) => {
    if (path.endsWith('/openapi.json')) return JSON.parse(openApiJson())
    if (path.endsWith('/demo.json')) return { userIds: ['ana'], hasConsole: true }
    const refs = Object.keys(messages).map((name) => [name, { $ref: name }])
    const channels = { user: { title: 'Of a user', messages: Object.fromEntries(refs) } }
    return { channels, components: { messages, schemas: { Emoji: { type: 'string' } } } }
  })
  const documents = await import('@parley/client/internal/docs/documents')
  return documents.loadDocuments()
}
async function operationNamed(operationId: string) {
  const { nouns } = await loadDocuments()
  const all = nouns.flatMap(({ operations }) => operations)
  const found = all.find((operation) => operation.operationId === operationId)
  if (!found) throw new Error(`there is no ${operationId}`)
  return found
}
/** Something of the page, with the documents. */
async function inDocs(element: ReactNode) {
  const { DocumentsContext } = await import('@parley/client/internal/docs/context')
  const { CredentialsProvider } = await import('@parley/client/internal/docs/credentials.tsx')
  const value = await loadDocuments()
  const within = createElement(CredentialsProvider, null, element)
  return createElement(DocumentsContext.Provider, { value }, within)
}

test('a search finds what has all its words, titles first and what few read last', async () => {
  const { find } = await import('@parley/client/internal/docs/search-index')
  const entry = (title: string, more: object = {}) => ({
    ...{ kind: 'Guide' as const, title, detail: '', address: title, text: '' },
    ...more,
  })
  const index = [
    entry('In a text', { text: 'Pin a Message' }),
    entry('Inside pins', { text: 'message', isLast: true }),
    entry('In detail', { detail: 'POST /pin', text: 'message' }),
    entry('Unpin a message'),
    entry('Pin a message'),
    entry('Pin a channel'),
  ]
  expect(find(index, ' pin  MESSAGE ').map(({ title }) => title)).toEqual([
    ...['Pin a message', 'Unpin a message', 'In detail', 'In a text', 'Inside pins'],
  ])
  expect(find(index, ' ')).toEqual([])
  expect(
    find(
      Array.from({ length: 40 }, (_, at) => entry(`pin ${at}`)),
      'pin',
    ),
  ).toHaveLength(30)
})

test('the index has all operations, events and guides by their addresses', async () => {
  const { createIndex, find } = await import('@parley/client/internal/docs/search-index')
  const hello = { name: 'hello.said', summary: 'Somebody said hello', payload: {}, examples: [] }
  const index = createIndex(await loadDocuments({ hello }))
  const addressesOf = (query: string) => find(index, query).map(({ address }) => address)
  expect(addressesOf('messages.sendBatch')).toContain('#/api/messages/messages.sendBatch')
  expect(addressesOf('said hello')).toEqual(['#/events/user/hello.said'])
  expect(addressesOf('getting started').some((each) => each.startsWith('#/guides/'))).toBe(true)
})

test('links of a guide lead to guides, documents, source files and other sites', async () => {
  const { linkOf, linkTextOf } = await import('@parley/client/internal/docs/links')
  const repository = 'https://github.com/parley-chat/parley/blob/main'
  const links = {
    'jobs.md': '#/guides/jobs',
    'jobs.md#retries': '#/guides/jobs/retries',
    '../README.md': '#/guides/parley',
    [`${repository}/docs/webhooks.md`]: '#/guides/webhooks',
    '../openapi.json': '../openapi.json',
    '../asyncapi.json': 'asyncapi.json',
    '../server/env.ts#L3': `${repository}/server/env.ts#L3`,
    'https://example.com/a': 'https://example.com/a',
    'mailto:a@example.com': 'mailto:a@example.com',
  }
  const found = Object.keys(links).map((address) => [address, linkOf(address, 'docs/push.md')])
  expect(Object.fromEntries(found)).toEqual(links)
  expect(linkTextOf('docs/jobs.md', '#/guides/jobs/retries')).toBe(
    'Link previews and push notifications',
  )
  expect(linkTextOf('jobs', '#/guides/jobs')).toBeUndefined()
})

test('samples call an operation with what it requires, quoted for their language', async () => {
  const { samplesOf, fillIn } = await import('@parley/client/internal/docs/samples')
  const samples = samplesOf(await operationNamed('messages.send'))
  expect(samples.map(({ title }) => title)).toEqual(['curl', 'SDK', 'SDK for backends'])
  expect(samples[0]?.text).toMatch(
    /^curl -X POST 'http:\/\/parley\.test\/api\/channels\/[\w-]+\/messages'/,
  )
  expect(samples[0]?.text).toContain('-H "Authorization: Bearer $TOKEN"')
  expect(samples[1]?.text).toContain('await chat.api.messages.send({\n  channelId: ')
  expect(samples[2]?.text).toContain("await chat.as('ana').messages.send({\n  channelId: ")
  const example = { text: "it's\n\\" }
  const content = { 'application/json': { schema: { required: ['text'] }, example } }
  const quoting: Operation = {
    ...{ operationId: 'a.b', method: 'PUT', path: '/a/{id}', summary: '', tags: [] },
    ...{ responses: {}, security: [{ adminKey: [] }], requestBody: { content } },
    parameters: [
      { name: 'id', in: 'path', required: true, schema: { examples: ['a/b'] } },
      { name: 'q', in: 'query', schema: { examples: ['not required'] } },
    ],
  }
  const [curl, sdk] = samplesOf(quoting).map(({ text }) => text)
  expect(curl?.split(' \\\n  ')).toEqual([
    "curl -X PUT 'http://parley.test/a/a%2Fb'",
    '-H "X-Admin-Key: $ADMIN_KEY"',
    "-H 'Content-Type: application/json'",
    `-d '{"text":"it'\\''s\\n\\\\"}'`,
  ])
  expect(sdk).toContain(`await operator.a.b({ id: 'a/b', text: 'it\\'s\\n\\\\' })`)
  const values = [
    { name: 'id', in: 'path' as const, value: 'ä b' },
    { name: 'q', in: 'query' as const, value: 'x&y' },
  ]
  expect(fillIn('/a/{id}', values)).toBe('/a/%C3%A4%20b?q=x%26y')
})

test('calls have the headers of the first way for which all credentials are given', async () => {
  const { headersFor } = await import('@parley/client/internal/docs/credentials.tsx')
  const send = await operationNamed('messages.send')
  expect(headersFor(send, { apiKey: 'k', adminKey: 'a' })).toEqual({ 'x-api-key': 'k' })
  const user = await operationNamed('reads.mark')
  expect(headersFor(user, { apiKey: 'k', adminKey: 'a' })).toEqual({})
  expect(headersFor(user, { apiKey: 'k', userId: 'ana' })).toEqual({
    'x-api-key': 'k',
    'x-user-id': 'ana',
  })
  const all = { bearer: 't', apiKey: 'k', userId: 'ana' }
  expect(headersFor(user, all)).toEqual({ authorization: 'Bearer t' })
})

test('a call that is tried has what was given, and shows what was answered', async () => {
  const { TryIt } = await import('@parley/client/internal/docs/try-it.tsx')
  sessionStorage.setItem('parley-docs-credentials', JSON.stringify({ bearer: 't' }))
  const operation = await operationNamed('messages.list')
  const element = await inDocs(createElement(TryIt, { operation }))
  const { container } = await page.show(element)
  sessionStorage.clear()
  const calls = answerCalls(() => Response.json({ messages: [] }, { status: 404 }))
  vi.stubGlobal('FormData', page.window.FormData)
  await page.type(field(container, 'channelId'), 'c 1')
  await page.type(field(container, 'limit'), '2')
  await page.submit(container.querySelector('form') as Element)
  await vi.waitUntil(() => container.querySelector('.try-status'))
  expect(calls.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /api/channels/c%201/messages?limit=2',
  ])
  expect(container.querySelector('.status')?.className).toBe('status status-bad')
  expect(container.querySelector('.status')?.textContent).toBe('404')
  expect((named(container, 'button', 'Send') as HTMLButtonElement).disabled).toBe(false)
})

test('fields show their type, whether they are required, and what they may be', async () => {
  const { Fields } = await import('@parley/client/internal/docs/schema.tsx')
  const properties: Record<string, Schema> = {
    name: { type: 'string', minLength: 1, maxLength: 2_000 },
    note: { type: 'string', minLength: 0, maxLength: 9 },
    seq: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, default: 1 },
    kind: { enum: ['a', 'b'] },
    many: { enum: [...'abcdefghi'] },
    emoji: { $ref: '#/components/schemas/Emoji' },
    tags: { items: { type: 'string' }, minItems: 1 },
    at: { anyOf: [{ type: 'string', format: 'date-time' }, { const: null }] },
    inner: { items: { properties: { deep: { type: ['boolean', 'null'] } } } },
  }
  const schema = { properties, required: ['name'] }
  const { container } = await page.show(
    await inDocs(createElement(Fields, { schema, label: 'Body' })),
  )
  const rows = () =>
    [...container.querySelectorAll('.field-row')].map((row) =>
      ['.field-type', '.field-required', '.field-limits'].map(
        (part) => row.querySelector(part)?.textContent ?? '',
      ),
    )
  expect(rows()).toEqual([
    ['string', 'required', '1 to 2,000 characters'],
    ['string', '', 'at most 9 characters'],
    ['integer', '', 'at least 1 · default 1'],
    ['"a" | "b"', '', ''],
    ['any', '', ''],
    ['Emoji', '', ''],
    ['list of string', '', 'at least 1 entries'],
    ['string (date-time) | null', '', ''],
    ['list of any', '', ''],
  ])
  await page.click(named(container, 'button', 'Show the fields of inner'))
  expect(rows().at(-1)).toEqual(['boolean | null', '', ''])
})
