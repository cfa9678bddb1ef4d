import { contract, limits, type Operation } from '@parley/contract'
import { beforeAll, describe, expect, test } from 'vitest'
import { exchange, expectError, post } from './support/raw.ts'
import { type User, useWorld } from './support/world.ts'

const world = useWorld()
let ana: User
let channels: string
let messages: string
let json: Record<string, string>

beforeAll(async () => {
  ana = await world().user('ana')
  const { id } = await ana.channels.create({ type: 'group', name: 'Talk' })
  channels = '/api/channels'
  messages = `/api/channels/${id}/messages`
  json = { Authorization: `Bearer ${ana.token}`, 'Content-Type': 'application/json' }
})

const send = (path: string, options: Parameters<typeof post>[2] = {}) =>
  post(world().url, path, options)
const sendJson = (path: string, body: string | Buffer) => send(path, { headers: json, body })
const get = (path: string) =>
  send(path, { method: 'GET', headers: { Authorization: `Bearer ${ana.token}` } })

describe('a body that can not be read is a VALIDATION_ERROR', () => {
  const unreadable: Record<string, string | Buffer> = {
    'cut short': '{"text": "hi"',
    'not JSON': 'text=hi',
    'two values': '{"text":"a"}{"text":"b"}',
    __proto__: '{"text":"hi","__proto__":{"admin":true}}',
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
      expect(expectError(await sendJson(messages, body), 'VALIDATION_ERROR')).toMatch(/^body: /),
    )
  }
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
    test(`Content-Type: ${type}`, async () => {
      const answer = await send(messages, {
        headers: { ...json, 'Content-Type': type },
        body: '{"text":"hi"}',
      })
      expect(expectError(answer, 'VALIDATION_ERROR')).toBe(
        'body: expected Content-Type: application/json',
      )
    })
  }
  test('no Content-Type', async () => {
    const { 'Content-Type': _, ...headers } = json
    expectError(await send(messages, { headers, body: '{"text":"hi"}' }), 'VALIDATION_ERROR')
  })
})

test('JSON is read whatever the spelling of its type', async () => {
  for (const type of [
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/json;;',
    'application/json ; x="y',
  ]) {
    expect(
      (await send(messages, { headers: { ...json, 'Content-Type': type }, body: '{"text":"hi"}' }))
        .status,
    ).toBe(201)
  }
})

describe('an empty body is no body', () => {
  const types = [undefined, 'application/json', 'text/plain', 'nonsense']
  for (const type of types) {
    test(`with Content-Type ${type}`, async () => {
      const headers = {
        Authorization: `Bearer ${ana.token}`,
        ...(type === undefined ? {} : { 'Content-Type': type }),
      }
      const path = messages.replace('/messages', '/read')
      expect((await send(path, { headers })).status).toBe(200)
      const [chunked] = await exchange(
        world().url,
        `POST ${path} HTTP/1.1\r\n${toLines({ Host: 'x', Connection: 'close', ...headers, 'Transfer-Encoding': 'chunked' })}\r\n0\r\n\r\n`,
      )
      expect(chunked?.status).toBe(200)
      const bare = { method: 'DELETE', headers }
      expectError(await send(`${messages}/019c9b1f-02d4-7d3a-9a53-6f1c2e4b8d90`, bare), 'NOT_FOUND')
      expect((await send('/health', { method: 'GET', headers })).status).toBe(200)
      expect(expectError(await send(messages, { headers }), 'VALIDATION_ERROR')).toMatch(/^text: /)
    })
  }
})
const toLines = (headers: Record<string, string>) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')

describe('a body of more than 256 KB is PAYLOAD_TOO_LARGE', () => {
  const withText = (bytes: number) => `{"text":"${'x'.repeat(bytes - 11)}"}`
  test('when it says its length', async () => {
    expectError(await sendJson(messages, withText(limits.bodyBytes + 1)), 'PAYLOAD_TOO_LARGE')
    expect(
      expectError(await sendJson(messages, withText(limits.bodyBytes)), 'VALIDATION_ERROR'),
    ).toMatch(/^text: /)
  })
  test('when it says its length and sends nothing', async () => {
    expectError(
      await send(messages, { headers: { ...json, 'Content-Length': '99999999999' } }),
      'PAYLOAD_TOO_LARGE',
    )
  })
  test('when it does not say its length', async () => {
    const body = withText(limits.bodyBytes + 1)
    const [answer] = await exchange(
      world().url,
      `POST ${messages} HTTP/1.1\r\n${toLines({ Host: 'x', Connection: 'close', ...json, 'Transfer-Encoding': 'chunked' })}\r\n`,
      `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    )
    if (!answer) throw new Error('no answer')
    expectError(answer, 'PAYLOAD_TOO_LARGE')
  })
  test('and a client that goes on sending is answered', async () => {
    const response = await fetch(world().url + messages, {
      method: 'POST',
      headers: json,
      body: withText(3_000_000),
    })
    expect([response.status, await response.json()]).toEqual([
      413,
      { error: { code: 'PAYLOAD_TOO_LARGE', message: 'The request body is too large' } },
    ])
  })
})

describe('text that can not be stored is a VALIDATION_ERROR that names its field', () => {
  const fields: Record<string, (text: string) => [path: string, body: object]> = {
    text: (text) => [messages, { text }],
    clientId: (clientId) => [messages, { text: 'hi', clientId }],
    'attachments.0.name': (name) => [
      messages,
      { text: 'hi', attachments: [{ type: 'image', url: 'https://example.com/a.png', name }] },
    ],
    'attachments.0.type': (type) => [
      messages,
      { text: 'hi', attachments: [{ type, url: 'https://example.com/a.png', name: 'a' }] },
    ],
    parentId: (parentId) => [messages, { text: 'hi', parentId }],
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
  test('email, image and custom of a user', async () => {
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

describe('a malformed id', () => {
  const nothing = [
    'x',
    '1',
    '%00',
    '%20',
    '%ff%fe',
    '%2F',
    '%2e%2e',
    '..%2f..',
    '.',
    'a'.repeat(3_000),
    `${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(13)}`,
    "'",
    '%F0%9F%98%80',
    '%ed%a0%80',
  ]
  for (const id of nothing) {
    test(`in a path names nothing: ${id.slice(0, 20)}`, async () => {
      const code = /%ff|%ed/.test(id) ? 'VALIDATION_ERROR' : 'NOT_FOUND'
      expectError(await get(`/api/channels/${id}`), code)
      expectError(await get(`/api/channels/${id}/messages`), code)
      expectError(await get(`${messages}/${id}`), code)
      expectError(await get(`${messages}/${id}/replies`), code)
    })
  }
  test('is not one in capitals', async () => {
    expect(
      (
        await get(
          messages
            .toUpperCase()
            .replace('/API/CHANNELS', '/api/channels')
            .replace('MESSAGES', 'messages'),
        )
      ).status,
    ).toBe(200)
  })
  test('in a body or a query is a VALIDATION_ERROR that names it', async () => {
    expect(
      expectError(await sendJson(messages, '{"text":"hi","parentId":"x"}'), 'VALIDATION_ERROR'),
    ).toBe('parentId: expected a UUID')
    expect(expectError(await get(`${messages}?before=x`), 'VALIDATION_ERROR')).toBe(
      'before: expected a UUID',
    )
    expect(
      expectError(
        await sendJson(channels, '{"type":"messaging","memberIds":["a b"]}'),
        'VALIDATION_ERROR',
      ),
    ).toMatch(/^memberIds\.0: expected 1 to 255/)
  })
  test('in a body goes before one in the path', async () => {
    expectError(await sendJson('/api/channels/x/messages', '{"text":1}'), 'VALIDATION_ERROR')
  })
})

describe('a query is read strictly', () => {
  const refused = [
    '0x10',
    '1e3',
    '+5',
    '1.5',
    '-1',
    '0',
    '',
    ' 5',
    '5 ',
    '٥',
    'NaN',
    'Infinity',
    'true',
    'null',
    '[]',
    '99999999999999999999',
    '-0',
  ]
  for (const value of refused) {
    test(`limit=${value}`, async () => {
      expect(
        expectError(
          await get(`${messages}?limit=${encodeURIComponent(value)}`),
          'VALIDATION_ERROR',
        ),
      ).toMatch(/^limit: /)
    })
  }
  test('a number above the maximum means the maximum', async () =>
    expect((await get(`${messages}?limit=999999999999999`)).status).toBe(200))
  test('a raw + is a space', async () =>
    expectError(await get(`${messages}?limit=+5`), 'VALIDATION_ERROR'))
  test('the same key twice', async () => {
    expect(expectError(await get(`${messages}?limit=5&limit=6`), 'VALIDATION_ERROR')).toMatch(
      /^limit: /,
    )
    expect(expectError(await get(`/api/channels?q=a&q=b`), 'VALIDATION_ERROR')).toMatch(/^q: /)
  })
  test('booleans are true or false', async () => {
    for (const value of ['1', 'yes', 'TRUE', ''])
      expect(expectError(await get(`/api/channels?discover=${value}`), 'VALIDATION_ERROR')).toMatch(
        /^discover: /,
      )
    for (const value of ['true', 'false'])
      expect((await get(`/api/channels?discover=${value}`)).status).toBe(200)
  })
  test('beyond what the database counts', async () => {
    for (const value of ['2147483648', '9007199254740993']) {
      expect(expectError(await get(`${messages}?since_seq=${value}`), 'VALIDATION_ERROR')).toMatch(
        /^since_seq: /,
      )
      expect(expectError(await get(`/api/channels?offset=${value}`), 'VALIDATION_ERROR')).toMatch(
        /^offset: /,
      )
    }
    expect((await get(`${messages}?since_seq=2147483647`)).status).toBe(200)
  })
  test('NUL, lone surrogates, bad encoding and unknown keys do no harm', async () => {
    expectError(await get('/api/channels?q=%00'), 'VALIDATION_ERROR')
    for (const query of [
      'q=%ed%a0%80',
      'q=%',
      'q=%zz',
      '__proto__=1',
      'constructor=1',
      '__proto__[admin]=1',
      '%ff=%ff',
      '&&&=&',
      '?',
      'unknown=1',
    ]) {
      expect([200, 400]).toContain((await get(`/api/channels?${query}`)).status)
    }
  })
  test('ids in a query do not replace those in the path', async () => {
    expect((await get(`${messages}?channelId=x`)).status).toBe(200)
    expect((await sendJson(messages, '{"text":"hi","channelId":"x"}')).status).toBe(201)
  })
})

describe('paths are taken as they are', () => {
  for (const path of [
    '/',
    '//',
    '/api',
    '/api/',
    '/api/channels/',
    '//api/channels',
    '/api//channels',
    '/./api/channels',
    '/api/./channels',
    '/x/../api/channels',
    '/API/channels',
    '/api/Channels',
    '/api%2Fchannels',
    '/health/',
    '/health/live/x',
    '/health%00',
    '/admin',
    '/tokens/',
    '*',
    '/wp-login.php',
    '/api/channels;x=1',
    '/🍕',
  ].map(encodeURI)) {
    test(path, async () => expectError(await get(path), 'NOT_FOUND'))
  }
  for (const path of [
    '/%',
    '/%zz',
    '/api/channels/%',
    '/api/channels/%E0%A4%A',
    '/%ff',
    '/trpc/%',
  ]) {
    test(`${path} is badly encoded`, async () =>
      expect(expectError(await get(path), 'VALIDATION_ERROR')).toBe(
        'path: expected valid percent-encoding',
      ))
  }
  for (const method of [
    'GET',
    'PUT',
    'PATCH',
    'DELETE',
    'OPTIONS',
    'TRACE',
    'PROPFIND',
    'QUERY',
    'SEARCH',
    'LOCK',
    'M-SEARCH',
  ]) {
    test(`${method} /tokens`, async () =>
      expectError(await send('/tokens', { method }), 'NOT_FOUND'))
    test(`${method} /tokens with a body that can not be read`, async () =>
      expectError(
        await send('/tokens', {
          method,
          body: '{',
          headers: { 'Content-Type': 'application/json' },
        }),
        'NOT_FOUND',
      ))
  }
  test('HEAD is GET without a body', async () => {
    for (const [path, status] of [
      ['/health', 200],
      ['/api/channels', 401],
      ['/nothing', 404],
    ] as const) {
      const [answer] = await exchange(
        world().url,
        `HEAD ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      )
      expect(answer).toMatchObject({ status, body: '' })
      expect(answer?.headers).toHaveProperty('x-request-id')
    }
  })
})

test('refusals come in the order 401, 429, 400, 404, 403', async () => {
  const nowhere = '/api/channels/019c9b1f-02d4-7d3a-9a53-6f1c2e4b8d90/messages'
  const typed = { 'Content-Type': 'application/json' }
  for (const body of ['', '{', '[]', '{"text":1}', '{"text":"hi"}'])
    expectError(await send(nowhere, { headers: typed, body }), 'UNAUTHORIZED')
  expectError(
    await send(nowhere, { headers: { 'Content-Type': 'text/plain' }, body: 'x' }),
    'UNAUTHORIZED',
  )
  expectError(
    await send(nowhere, { headers: { ...typed, Authorization: 'Bearer x' }, body: '{' }),
    'INVALID_TOKEN',
  )
  expectError(await sendJson(nowhere, '{"text":1}'), 'VALIDATION_ERROR')
  expectError(await sendJson(nowhere, '{"text":"hi"}'), 'NOT_FOUND')
  const ben = await world().user('ben')
  const theirs = { ...typed, Authorization: `Bearer ${ben.token}` }
  expectError(await send(messages, { headers: theirs, body: '{"text":1}' }), 'VALIDATION_ERROR')
  expectError(await send(messages, { headers: theirs, body: '{"text":"hi"}' }), 'FORBIDDEN')
})

test('every operation that wants credentials refuses to go without, whatever else is wrong', async () => {
  const operations = Object.values(contract).flatMap((group) => Object.values<Operation>(group))
  for (const { method, path, auth } of operations.filter(({ auth }) => auth !== 'none')) {
    const answer = await send(path.replace(/\{\w+\}/g, '%00'), {
      method,
      headers: { 'Content-Type': 'application/json' },
      body: '{',
    })
    expect({ path, auth, message: expectError(answer, 'UNAUTHORIZED') }).toBeTruthy()
  }
})

test('a request id that is sane is given back, any other replaced', async () => {
  const requestId = async (given: string) =>
    (await send('/health/live', { method: 'GET', headers: { 'X-Request-Id': given } })).headers[
      'x-request-id'
    ]
  expect(await requestId('abc-1.2_3')).toBe('abc-1.2_3')
  for (const given of ['', 'a b', '"', 'a'.repeat(101), '<script>', 'ü'])
    expect(await requestId(given)).toMatch(/^[0-9a-f-]{36}$/)
})

test('a fault of the server tells nothing of itself', async () => {
  await world().db`alter table channels rename column name to renamed`
  try {
    const answer = await get('/api/channels')
    expect(expectError(answer, 'INTERNAL_ERROR')).toBe('Something went wrong')
  } finally {
    await world().db`alter table channels rename column renamed to name`
  }
  expect((await get('/api/channels')).status).toBe(200)
})

test('after all this the server is well', async () => {
  expect(JSON.parse((await get('/health')).body)).toEqual({
    status: 'ok',
    version: limits.apiVersion,
    checks: { database: 'ok' },
  })
})
