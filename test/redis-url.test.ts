import { readConfig } from '@parley/server/config/index'
import { loadRedis, pauseMs } from '@parley/server/core/redis'
import { parseRedisUrl } from '@parley/server/core/redis-url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { upTo } from './support/events.ts'

test('a URL of Redis names one server, a cluster, or the Sentinels of a server', () => {
  expect(parseRedisUrl('redis://cache')).toMatchObject({
    kind: 'single',
    hosts: [{ host: 'cache', port: 6_379 }],
    isTls: false,
    database: 0,
  })
  expect(parseRedisUrl('rediss://chat:p%40ss:word@[::1]:7000/2')).toMatchObject({
    hosts: [{ host: '::1', port: 7_000 }],
    isTls: true,
    username: 'chat',
    password: 'p@ss:word',
    database: 2,
  })
  expect(parseRedisUrl('redis+cluster://:secret@a:1,b')).toMatchObject({
    kind: 'cluster',
    hosts: [
      { host: 'a', port: 1 },
      { host: 'b', port: 6_379 },
    ],
    password: 'secret',
  })
  expect(parseRedisUrl('rediss+sentinel://a,b:2/chat/3')).toMatchObject({
    kind: 'sentinel',
    hosts: [
      { host: 'a', port: 26_379 },
      { host: 'b', port: 2 },
    ],
    masterName: 'chat',
    database: 3,
  })
})

test('connections use the database of their URL, by Sentinels too', async () => {
  for (const url of ['redis://127.0.0.1:1/2', 'redis+sentinel://127.0.0.1:1/chat/2']) {
    const target = parseRedisUrl(url)
    const connect = target && (await loadRedis(target))
    const connection = connect?.({ name: 'test', commandMs: 100 })
    connection?.close()
    expect(connection?.client.options, url).toMatchObject({ db: 2 })
  }
})

test.each([
  'http://cache',
  'redis://',
  'redis://a,b',
  'redis://a:99999',
  'redis://a/name',
  'redis+cluster://a/1',
  'redis+sentinel://a',
  'redis://%zz@a',
])('%s is no URL of Redis, and the start says what is', (url) => {
  expect(parseRedisUrl(url)).toBeUndefined()
  expect(() => readConfig({ REDIS_URL: url })).toThrow('REDIS_URL: expected redis://host:port')
})

test('the pauses before another attempt to connect grow, up to some two seconds', () => {
  expect(pauseMs(1)).toBeLessThan(200)
  for (const attempts of [...upTo(20), 1_000]) expect(pauseMs(attempts)).toBeLessThanOrEqual(2_500)
  expect(pauseMs(20)).toBeGreaterThanOrEqual(1_500)
})

test('a connection that ends after it worked is made again after a short pause', async () => {
  const target = parseRedisUrl('redis://127.0.0.1:1')
  const connect = target && (await loadRedis(target))
  const { client, close } = connect?.({ name: 'test', commandMs: 100 }) ?? expect.unreachable()
  client.disconnect()
  const attempts = vi.spyOn(client, 'connect').mockResolvedValue()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => {
    close()
    vi.useRealTimers()
  })
  const attemptsWithin = (ms: number) => {
    attempts.mockClear()
    vi.advanceTimersByTime(ms)
    return attempts.mock.calls.length
  }
  for (const _ of upTo(10)) {
    client.emit('end')
    expect(attemptsWithin(2_500)).toBe(1)
  }
  client.emit('end')
  expect([attemptsWithin(1_000), attemptsWithin(1_500)]).toEqual([0, 1])
  client.emit('ready')
  client.emit('end')
  expect(attemptsWithin(200)).toBe(1)
})
