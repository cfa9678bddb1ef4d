import { limits } from '@parley/contract'
import { describe, expect, test } from 'vitest'
import { exchange, expectError } from '../support/raw.ts'
import { useSharedWorld } from '../support/world.ts'
import { channels, toLines, useRequests } from './fixture.ts'

const world = useSharedWorld()
const { authorization, json, messages, send, sendJson } = useRequests(world)
const chunked = { Host: 'x', Connection: 'close', 'Transfer-Encoding': 'chunked' }

describe('an unreadable body is a VALIDATION_ERROR', () => {
  const unreadable: Record<string, string | Buffer> = {
    'cut short': '{"text": "hi"',
    'not JSON': 'text=hi',
    'two values': '{"text":"a"}{"text":"b"}',
    ['__proto__']: '{"text":"hi","__proto__":{"admin":true}}',
    'a nested __proto__': '{"text":"hi","attachments":[{"__proto__":{}}]}',
    'an escaped __proto__': '{"text":"hi","\\u005f_proto__":{}}',
    'constructor.prototype': '{"text":"hi","constructor":{"prototype":{}}}',
    'an array': '[{"text":"hi"}]',
    'a string': '"hi"',
    'a number': '1',
    null: 'null',
    'a byte that is not UTF-8': Buffer.from('{"text":"\xff"}', 'latin1'),
    'a surrogate in UTF-8': Buffer.concat([
      Buffer.from('{"text":"'),
      Buffer.from([0xed, 0xa0, 0x80]),
      Buffer.from('"}'),
    ]),
    'a raw NUL': '{"text":"a\0b"}',
    'deeply nested': `{"text":${'['.repeat(100_000)}`,
  }
  for (const [name, body] of Object.entries(unreadable)) {
    test(name, async () =>
      expect(expectError(await sendJson(messages(), body), 'VALIDATION_ERROR')).toMatch(/^body: /),
    )
  }
  test.each(['__proto__', 'constructor.prototype'])('a body with %s is refused', async (key) => {
    const answer = await sendJson(messages(), unreadable[key] ?? '')
    expect(expectError(answer, 'VALIDATION_ERROR')).toContain(key)
  })
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'json',
    ';',
    'a b/c',
    'application/merge-patch+json',
  ]) {
    test(`a body with Content-Type: ${type} is refused`, async () => {
      const answer = await send(messages(), {
        headers: { ...json(), 'Content-Type': type },
        body: '{"text":"hi"}',
      })
      expect(expectError(answer, 'VALIDATION_ERROR')).toBe(
        'body: expected Content-Type: application/json',
      )
    })
  }
  test('a body without Content-Type is refused', async () => {
    const { 'Content-Type': _, ...headers } = json()
    expectError(await send(messages(), { headers, body: '{"text":"hi"}' }), 'VALIDATION_ERROR')
  })
})

test('JSON is read in every spelling of its content type', async () => {
  for (const type of [
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/json;;',
    'application/json ; x="y',
  ]) {
    expect(
      (
        await send(messages(), {
          headers: { ...json(), 'Content-Type': type },
          body: '{"text":"hi"}',
        })
      ).status,
    ).toBe(201)
  }
})

describe('an empty body counts as no body', () => {
  const types = [undefined, 'application/json', 'text/plain', 'nonsense']
  for (const type of types) {
    test(`an empty body with Content-Type ${type} counts as none`, async () => {
      const headers = {
        ...authorization(),
        ...(type === undefined ? {} : { 'Content-Type': type }),
      }
      const path = messages().replace('/messages', '/read')
      expect((await send(path, { headers })).status).toBe(200)
      const [empty] = await exchange(
        world().url,
        `POST ${path} HTTP/1.1\r\n${toLines({ ...chunked, ...headers })}\r\n0\r\n\r\n`,
      )
      expect(empty?.status).toBe(200)
      const bare = { method: 'DELETE', headers }
      expectError(
        await send(`${messages()}/019c9b1f-02d4-7d3a-9a53-6f1c2e4b8d90`, bare),
        'NOT_FOUND',
      )
      expect((await send('/health', { method: 'GET', headers })).status).toBe(200)
      expect(expectError(await send(messages(), { headers }), 'VALIDATION_ERROR')).toMatch(
        /^text: /,
      )
    })
  }
})

describe('a body of more than 256 KB is PAYLOAD_TOO_LARGE', () => {
  const withText = (bytes: number) => `{"text":"${'x'.repeat(bytes - 11)}"}`
  test('a body above the limit is refused, and one at the limit is read', async () => {
    expectError(await sendJson(messages(), withText(limits.bodyBytes + 1)), 'PAYLOAD_TOO_LARGE')
    expect(
      expectError(await sendJson(messages(), withText(limits.bodyBytes)), 'VALIDATION_ERROR'),
    ).toMatch(/^text: /)
  })
  test('a Content-Length above the limit is refused before any byte of the body', async () => {
    expectError(
      await send(messages(), { headers: { ...json(), 'Content-Length': '99999999999' } }),
      'PAYLOAD_TOO_LARGE',
    )
  })
  test('a chunked body above the limit is refused', async () => {
    const body = withText(limits.bodyBytes + 1)
    const [answer] = await exchange(
      world().url,
      `POST ${messages()} HTTP/1.1\r\n${toLines({ ...chunked, ...json() })}\r\n`,
      `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    )
    if (!answer) throw new Error('no answer')
    expectError(answer, 'PAYLOAD_TOO_LARGE')
  })
  test('a client that goes on sending too large a body still gets the answer', async () => {
    const response = await fetch(world().url + messages(), {
      method: 'POST',
      headers: json(),
      body: withText(3_000_000),
    })
    expect([response.status, await response.json()]).toEqual([
      413,
      { error: { code: 'PAYLOAD_TOO_LARGE', message: 'The request body is too large' } },
    ])
  })
})

describe('text that cannot be stored is a VALIDATION_ERROR that names its field', () => {
  const fields: Record<string, (text: string) => [path: string, body: object]> = {
    text: (text) => [messages(), { text }],
    clientId: (clientId) => [messages(), { text: 'hi', clientId }],
    'attachments.0.name': (name) => [
      messages(),
      { text: 'hi', attachments: [{ type: 'image', url: 'https://example.com/a.png', name }] },
    ],
    'attachments.0.type': (type) => [
      messages(),
      { text: 'hi', attachments: [{ type, url: 'https://example.com/a.png', name: 'a' }] },
    ],
    parentId: (parentId) => [messages(), { text: 'hi', parentId }],
    name: (name) => [channels, { type: 'group', name }],
    description: (description) => [channels, { type: 'group', name: 'a', description }],
    image: (image) => [
      channels,
      { type: 'group', name: 'a', image: `https://example.com/${image}` },
    ],
    'memberIds.0': (id) => [channels, { type: 'group', name: 'a', memberIds: [id] }],
  }
  for (const [field, request] of Object.entries(fields)) {
    test(field, async () => {
      for (const text of ['a\\u0000b', '\\ud800', 'a\\udc00b', '\\ude00\\ud83d']) {
        const [path, body] = request('TEXT')
        const answer = await sendJson(path, JSON.stringify(body).replace('TEXT', text))
        expect(expectError(answer, 'VALIDATION_ERROR')).toMatch(new RegExp(`^${field}: `))
      }
    })
  }
  test('text of a user that cannot be stored is refused by the name of its field', async () => {
    const headers = { 'X-API-Key': world().apiKey, 'Content-Type': 'application/json' }
    for (const [field, value] of [
      ['email', '"a\\u0000@example.com"'],
      ['image', '"https://example.com/\\ud800"'],
      ['name', '"\\u0000"'],
      ['custom', '{"a":["\\u0000"]}'],
      ['custom', '{"\\udfff":1}'],
      ['userId', '"a\\u0000"'],
    ] as const) {
      const answer = await send('/tokens', {
        headers,
        body: `{"userId":"eve",${JSON.stringify(field)}:${value}}`,
      })
      expect(expectError(answer, 'VALIDATION_ERROR')).toMatch(new RegExp(`^${field}: `))
    }
  })
})
