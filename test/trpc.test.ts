import type { AppRouter } from '@parley/contract'
import {
  createTRPCClient,
  httpBatchLink,
  httpBatchStreamLink,
  httpLink,
  TRPCClientError,
} from '@trpc/client'
import { beforeAll, describe, expect, test } from 'vitest'
import { createTalk } from './support/large-answers.ts'
import { post } from './support/raw.ts'
import { type User, useWorld } from './support/world.ts'

const world = useWorld()
let ana: User
let channelId: string
beforeAll(async () => {
  ana = await world().user('ana')
  channelId = (await ana.channels.create({ type: 'group', name: 'Talk' })).id
})

const headers = () => ({ authorization: `Bearer ${ana.token}` })
const send = (path: string, { method = 'GET', body = '', type = 'application/json' } = {}) =>
  post(world().url, `/trpc/${path}`, {
    method,
    body,
    headers: { Authorization: `Bearer ${ana.token}`, 'Content-Type': type },
  })
const input = (value: unknown) => `input=${encodeURIComponent(JSON.stringify(value))}`

describe('a plain tRPC client', () => {
  for (const link of [httpLink, httpBatchLink, httpBatchStreamLink]) {
    test(`a tRPC client works with ${link.name}`, async () => {
      const client = createTRPCClient<AppRouter>({
        links: [link({ url: `${world().url}/trpc`, headers })],
      })
      const sent = await client.messages.send.mutate({ channelId, text: 'hi' })
      const [{ messages }, { channels }, health] = await Promise.all([
        client.messages.list.query({ channelId }),
        client.channels.list.query(),
        client.service.health.query(),
      ])
      expect(messages.at(-1)?.id).toBe(sent.id)
      expect([channels[0]?.id, health.status]).toEqual([channelId, 'ok'])
    })
  }
  test('a tRPC client receives the code of a refusal', async () => {
    const client = createTRPCClient<AppRouter>({
      links: [httpBatchLink({ url: `${world().url}/trpc`, headers })],
    })
    const [bad, fine, missing] = await Promise.allSettled([
      client.messages.list.query({ channelId, limit: 0 }),
      client.messages.list.query({ channelId }),
      client.channels.get.query({ channelId: '019c9b1f-02d4-7d3a-9a53-6f1c2e4b8d90' }),
    ])
    expect(fine.status).toBe('fulfilled')
    const dataOf = (result: PromiseSettledResult<unknown>) =>
      result.status === 'rejected' && result.reason instanceof TRPCClientError
        ? result.reason.data
        : result
    expect(dataOf(bad)).toEqual({
      code: 'VALIDATION_ERROR',
      httpStatus: 400,
      path: 'messages.list',
    })
    expect(dataOf(missing)).toEqual({ code: 'NOT_FOUND', httpStatus: 404, path: 'channels.get' })
  })
})

describe('a tRPC error has code, status and path, and nothing else', () => {
  const wrong: Record<string, [status: number, code: string, ask: () => ReturnType<typeof send>]> =
    {
      'an unknown procedure': [404, 'NOT_FOUND', () => send('channels.nothing')],
      'an unknown group': [404, 'NOT_FOUND', () => send('nothing')],
      'a name of Object': [404, 'NOT_FOUND', () => send('__proto__.toString')],
      'a query as a mutation': [
        404,
        'NOT_FOUND',
        () => send('channels.list', { method: 'POST', body: '{}' }),
      ],
      'a mutation as a query': [
        404,
        'NOT_FOUND',
        () => send(`channels.create?${input({ type: 'group', name: 'a' })}`),
      ],
      'input that is not JSON': [400, 'VALIDATION_ERROR', () => send('messages.list?input={')],
      'input that is no object': [
        400,
        'VALIDATION_ERROR',
        () => send(`messages.list?${input('x')}`),
      ],
      'no input': [404, 'NOT_FOUND', () => send('messages.list')],
      'null as input': [404, 'NOT_FOUND', () => send(`messages.list?${input(null)}`)],
      'a malformed field': [
        400,
        'VALIDATION_ERROR',
        () => send(`messages.list?${input({ channelId, limit: '5' })}`),
      ],
      'a malformed id': [
        404,
        'NOT_FOUND',
        () => send(`messages.list?${input({ channelId: 'x' })}`),
      ],
      'a body that is not JSON': [
        400,
        'VALIDATION_ERROR',
        () => send('messages.send', { method: 'POST', body: '{' }),
      ],
      'a body of __proto__': [
        400,
        'VALIDATION_ERROR',
        () => send('messages.send', { method: 'POST', body: '{"__proto__":{}}' }),
      ],
      'a body of another type': [
        400,
        'VALIDATION_ERROR',
        () => send('messages.send', { method: 'POST', body: 'x', type: 'multipart/form-data' }),
      ],
      'no body': [400, 'VALIDATION_ERROR', () => send('messages.send', { method: 'POST' })],
      'a lone surrogate': [
        400,
        'VALIDATION_ERROR',
        () =>
          send('messages.send', {
            method: 'POST',
            body: `{"channelId":"${channelId}","text":"\\ud800"}`,
          }),
      ],
    }
  for (const [name, [status, code, ask]] of Object.entries(wrong)) {
    test(name, async () => {
      const answer = await ask()
      const { error } = JSON.parse(answer.body)
      expect({ status: answer.status, error }).toEqual({
        status,
        error: {
          message: expect.stringMatching(/./),
          code: expect.any(Number),
          data: {
            code,
            httpStatus: status,
            ...(error.data.path === undefined ? {} : { path: expect.any(String) }),
          },
        },
      })
      expect(answer.body).not.toMatch(/node_modules|\.ts:|\\n +at /)
    })
  }
  test('an internal error over tRPC reveals no details', async () => {
    await world().db`alter table pins rename to renamed`
    try {
      const { status, body } = await send(`pins.list?${input({ channelId })}`)
      expect([status, JSON.parse(body)]).toEqual([
        500,
        {
          error: {
            message: 'Something went wrong',
            code: -32603,
            data: { code: 'INTERNAL_ERROR', httpStatus: 500, path: 'pins.list' },
          },
        },
      ])
    } finally {
      await world().db`alter table renamed rename to pins`
    }
  })
  test('a tRPC call whose body cannot be read is refused with the reason', async () => {
    for (const body of ['{', '[]', '"x"']) {
      const answer = await send('messages.send', { method: 'POST', body })
      expect([body, JSON.parse(answer.body).error.message]).toEqual([
        body,
        expect.stringMatching(/^body: /),
      ])
    }
  })
  test('a tRPC call whose input is not JSON gets an error that says so', async () => {
    const { status, body } = await send('pins.list?input=hello')
    expect([status, JSON.parse(body).error.message]).toEqual([400, 'input: expected JSON'])
  })
  test('tRPC checks credentials before input', async () => {
    for (const body of ['{', '{"text":1}']) {
      const { status, body: answer } = await post(world().url, '/trpc/messages.send', {
        body,
        headers: { 'Content-Type': 'application/json' },
      })
      expect([status, JSON.parse(answer).error.data.code]).toEqual([401, 'UNAUTHORIZED'])
    }
  })
})

describe('malformed tRPC requests cause no server error', () => {
  const odd: Record<string, () => ReturnType<typeof send>> = {
    'a batch of nothing': () => send('?batch=1'),
    'a batch of commas': () => send(`${','.repeat(500)}?batch=1`),
    'a batch without input': () => send('messages.list,messages.list?batch=1'),
    'a batch whose input is an array': () =>
      send(`messages.list?batch=1&input=${encodeURIComponent('[1]')}`),
    'a batch twice': () => send('service.live?batch=1&batch=1'),
    'a body that is no batch': () =>
      send('messages.send?batch=1', { method: 'POST', body: '{"a":1}' }),
    'a path of 10 KB': () => send('a'.repeat(10_000)),
    'an encoded slash': () => send('channels%2Flist'),
    'input and body': () =>
      send(`messages.send?${input({ channelId, text: 'x' })}`, { method: 'POST', body: '{}' }),
    'a type that is none': () => send('service.live', { type: '\u00ff;;;=' }),
    'an unknown connection': () => send('service.live?connectionParams=1'),
    'parameters that are not JSON': () => send('service.live?connectionParams={'),
  }
  for (const [name, ask] of Object.entries(odd))
    test(`${name} is no server error`, async () => expect((await ask()).status).toBeLessThan(500))
  const refused = { PUT: 404, DELETE: 404, PATCH: 404, OPTIONS: 404, TRACE: 405 }
  for (const [method, status] of Object.entries(refused))
    test(`a tRPC request by ${method} is answered with ${status}`, async () =>
      expect((await send('service.live', { method })).status).toBe(status))
  test('a tRPC batch has at most 20 calls', async () => {
    const batch = (length: number) =>
      send(`${Array.from({ length }, () => 'service.health').join()}?batch=1`)
    const full = await batch(20)
    expect([full.status, JSON.parse(full.body).length]).toEqual([200, 20])
    const excessive = await batch(21)
    const { status, headers } = excessive
    expect([status, headers['content-type']]).toEqual([400, 'application/json'])
    const [{ error }] = [JSON.parse(excessive.body)].flat()
    expect(error.message).toBe('batch: expected at most 20 calls')
    expect(error.data.code).toBe('VALIDATION_ERROR')
    expect(excessive.body).not.toContain('result')
  })
  test('the answers of a tRPC batch have some megabytes, calls beyond are refused', async () => {
    const talk = await createTalk(world(), ana, 26)
    const calls = Array.from({ length: 8 }, () => ({ channelId: talk.channelId }))
    const names = calls.map(() => 'messages.list').join()
    const { body } = await send(`${names}?batch=1&${input({ ...calls })}`)
    expect(Buffer.byteLength(body)).toBeLessThan(6 * 2 ** 20)
    const answers: { error?: { message: string; data: object } }[] = JSON.parse(body)
    const errors = answers.flatMap(({ error }) => error ?? [])
    expect(answers).toHaveLength(8)
    expect(errors.length).toBeGreaterThan(1)
    expect(errors.length).toBeLessThan(5)
    for (const { message, data } of errors) {
      expect(message).toBe('The answers of a batch have at most 4 MB: repeat this call alone')
      expect(data).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', httpStatus: 413 })
    }
    const encoded = await send(`${names.replaceAll(',', '%252C')}?batch=1&${input({ ...calls })}`)
    expect(JSON.parse(encoded.body)).toHaveLength(8)
    expect(Buffer.byteLength(encoded.body)).toBeLessThan(6 * 2 ** 20)
    const alone = await send(`messages.list?${input(calls[0])}`)
    expect(alone.status).toBe(200)
  })
})
