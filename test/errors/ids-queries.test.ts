import { describe, expect, test } from 'vitest'
import { expectError } from '../support/raw.ts'
import { useSharedWorld } from '../support/world.ts'
import { channels, useRequests } from './fixture.ts'

const world = useSharedWorld()
const { get, messages, sendJson } = useRequests(world)

describe('malformed ids', () => {
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
    test(`a malformed id in a path is not found: ${id.slice(0, 20)}`, async () => {
      const code = /%ff|%ed/.test(id) ? 'VALIDATION_ERROR' : 'NOT_FOUND'
      expectError(await get(`/api/channels/${id}`), code)
      expectError(await get(`/api/channels/${id}/messages`), code)
      expectError(await get(`${messages()}/${id}`), code)
      expectError(await get(`${messages()}/${id}/replies`), code)
    })
  }
  test('an id in capitals is well-formed', async () => {
    expect(
      (
        await get(
          messages()
            .toUpperCase()
            .replace('/API/CHANNELS', '/api/channels')
            .replace('MESSAGES', 'messages'),
        )
      ).status,
    ).toBe(200)
  })
  test('a malformed id in a body or a query is a VALIDATION_ERROR that names it', async () => {
    expect(
      expectError(await sendJson(messages(), '{"text":"hi","parentId":"x"}'), 'VALIDATION_ERROR'),
    ).toBe('parentId: expected a UUID')
    expect(expectError(await get(`${messages()}?before=x`), 'VALIDATION_ERROR')).toBe(
      'before: expected a UUID',
    )
    expect(
      expectError(
        await sendJson(channels, '{"type":"messaging","memberIds":["a b"]}'),
        'VALIDATION_ERROR',
      ),
    ).toMatch(/^memberIds\.0: expected 1 to 255/)
  })
  test('an invalid body is reported before a malformed id in the path', async () => {
    expectError(await sendJson('/api/channels/x/messages', '{"text":1}'), 'VALIDATION_ERROR')
  })
})

describe('queries are parsed strictly', () => {
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
    test(`the query limit=${value} is refused`, async () => {
      expect(
        expectError(
          await get(`${messages()}?limit=${encodeURIComponent(value)}`),
          'VALIDATION_ERROR',
        ),
      ).toMatch(/^limit: /)
    })
  }
  test('a limit above the maximum means the maximum', async () =>
    expect((await get(`${messages()}?limit=999999999999999`)).status).toBe(200))
  test('a + in a query is a space', async () =>
    expectError(await get(`${messages()}?limit=+5`), 'VALIDATION_ERROR'))
  test('a query key that is given twice is refused', async () => {
    expect(expectError(await get(`${messages()}?limit=5&limit=6`), 'VALIDATION_ERROR')).toMatch(
      /^limit: /,
    )
    expect(expectError(await get(`/api/channels?q=a&q=b`), 'VALIDATION_ERROR')).toMatch(/^q: /)
  })
  test('booleans in a query are true or false', async () => {
    for (const value of ['1', 'yes', 'TRUE', ''])
      expect(expectError(await get(`/api/channels?discover=${value}`), 'VALIDATION_ERROR')).toMatch(
        /^discover: /,
      )
    for (const value of ['true', 'false'])
      expect((await get(`/api/channels?discover=${value}`)).status).toBe(200)
  })
  test('numbers in a query beyond the range of the database are refused', async () => {
    for (const value of ['2147483648', '9007199254740993']) {
      expect(
        expectError(await get(`${messages()}?since_seq=${value}`), 'VALIDATION_ERROR'),
      ).toMatch(/^since_seq: /)
      expect(expectError(await get(`/api/channels?offset=${value}`), 'VALIDATION_ERROR')).toMatch(
        /^offset: /,
      )
    }
    expect((await get(`${messages()}?since_seq=2147483647`)).status).toBe(200)
  })
  test('malformed text and unknown keys in a query cause no server error', async () => {
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
  test('an id in a query or a body does not replace the one in the path', async () => {
    expect((await get(`${messages()}?channelId=x`)).status).toBe(200)
    expect((await sendJson(messages(), '{"text":"hi","channelId":"x"}')).status).toBe(201)
  })
})
