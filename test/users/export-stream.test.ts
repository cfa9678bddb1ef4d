import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { limited, none } from '../support/limited.ts'
import { whileRowLocked } from '../support/locks.ts'
import { until } from '../support/until.ts'
import { useWorld, type World } from '../support/world.ts'

const world = useWorld()

/** A user with something in several parts of the export: each part is a page of its own. */
async function populate(app: World, userId: string) {
  const user = await app.user(userId)
  const { id: channelId } = await user.channels.create({ type: 'group', name: 'Exported' })
  const { id: messageId } = await user.messages.send({ channelId, text: 'mine' })
  await user.reactions.add({ channelId, messageId, emoji: '👍' })
  await user.pins.pin({ channelId, messageId })
  return user
}

type Options = { query?: string; signal?: AbortSignal | undefined }

const streamOf = ({ url, apiKey }: World, userId: string, options: Options = {}) =>
  fetch(`${url}/api/users/${userId}/export${options.query ?? ''}`, {
    headers: { 'X-API-Key': apiKey, Accept: 'application/x-ndjson' },
    signal: options.signal ?? null,
  })

type Line = { kind: string; cursor?: string }
const linesOf = async (response: Response) =>
  (await response.text())
    .trimEnd()
    .split('\n')
    .map((line): Line => JSON.parse(line))

test('only the first page of a stream counts as a call; it resumes at each cursor', async () => {
  const app = await limited({ rateLimits: { ...none, requests: 4 } })
  await populate(app, 'ana')
  const whole = await linesOf(await streamOf(app, 'ana'))
  expect(whole.map(({ kind }) => kind)).toEqual([
    ...['profile', 'cursor', 'membership', 'cursor', 'message', 'cursor', 'reaction', 'cursor'],
    ...['pin', 'cursor', 'end'],
  ])
  const at = whole.findIndex(({ kind }) => kind === 'message') + 1
  const rest = await streamOf(app, 'ana', { query: `?cursor=${whole[at]?.cursor}` })
  const isItem = ({ kind }: Line) => kind !== 'cursor'
  expect((await linesOf(rest)).filter(isItem)).toEqual(whole.slice(at + 1).filter(isItem))
  // Each stream is a call, and no more.
  expect((await streamOf(app, 'ana')).headers.get('RateLimit-Remaining')).toBe('1')
  expect((await streamOf(app, 'ana')).status).toBe(200)
  expect((await streamOf(app, 'ana')).status).toBe(429)
})

test('calls other than exports answer JSON whatever Accept says', async () => {
  await populate(world(), 'una')
  for (const path of ['users/una', 'users'])
    expect(
      await fetch(`${world().url}/api/${path}`, {
        headers: { 'X-API-Key': world().apiKey, Accept: 'application/x-ndjson' },
      }).then(async (response) => [response.status, typeof (await response.json())]),
    ).toEqual([200, 'object'])
})

test('a key has a limited number of export streams at once, and more as they end', async () => {
  await populate(world(), 'eve')
  // Refused streams take no place.
  for (let refused = 0; refused <= limits.exportsAtOnce; refused++)
    expect((await streamOf(world(), 'nobody')).status).toBe(404)
  const open = (signal?: AbortSignal) => streamOf(world(), 'eve', { signal })
  const streams = await whileRowLocked(
    world(),
    (sql) => sql`lock table reactions in access exclusive mode`,
    async () => {
      // Headers come with the first page; a later one waits.
      const begun = await Promise.all(Array.from({ length: limits.exportsAtOnce }, () => open()))
      const refused = await open()
      expect(refused.status).toBe(429)
      expect(refused.headers.get('Retry-After')).not.toBeNull()
      expect(await refused.json()).toEqual({
        error: {
          code: 'RATE_LIMITED',
          message: 'Too many exports at once with this API key: at most 4',
        },
      })
      // An export that is no stream is not held up, and neither is another key.
      expect((await world().backend.users.export({ userId: 'eve' })).items).toHaveLength(1)
      const { apiKey } = await world().operator.apps.createKey({ appId: world().appId, name: 'B' })
      const other = await streamOf({ ...world(), apiKey }, 'eve')
      expect(other.status).toBe(200)
      await other.body?.cancel()
      return begun
    },
  )
  for (const stream of streams) expect((await linesOf(stream)).at(-1)).toEqual({ kind: 'end' })
  // Streams that the client gives up end, too, with their first page or before it.
  const gone = new AbortController()
  const given = await whileRowLocked(
    world(),
    (sql) => sql`lock table audit in access exclusive mode`,
    async (sql) => {
      const begun = Array.from({ length: limits.exportsAtOnce }, () => open(gone.signal))
      const given = Promise.allSettled(begun)
      const waiting = () =>
        sql`
          select
          from pg_locks
          where relation = 'audit'::regclass
            and not granted`
      await expect.poll(waiting).toHaveLength(limits.exportsAtOnce)
      gone.abort()
      return given
    },
  )
  expect(given.map(({ status }) => status)).toEqual(given.map(() => 'rejected'))
  for (let n = 0; n < 2 * limits.exportsAtOnce; n++)
    await expect
      .poll(async () => {
        const stream = await open()
        await stream.body?.cancel()
        return stream.status
      })
      .toBe(200)
})

test('each stream of an export that ends makes room for one other', async () => {
  await populate(world(), 'zoe')
  const whole = await linesOf(await streamOf(world(), 'zoe'))
  const at = whole.findIndex(({ kind }) => kind === 'reaction') + 1
  const afterReactions = { query: `?cursor=${whole[at]?.cursor}` }
  const open = () => streamOf(world(), 'zoe')
  const streams = await whileRowLocked(
    world(),
    (sql) => sql`lock table reactions in access exclusive mode`,
    async () => {
      const first = await open()
      const { ending } = await whileRowLocked(
        world(),
        (sql) => sql`lock table pins in access exclusive mode`,
        async (sql) => {
          const others = Array.from({ length: limits.exportsAtOnce - 1 }, () =>
            streamOf(world(), 'zoe', afterReactions),
          )
          const waiting = () =>
            sql`
              select
              from pg_locks
              where relation = 'pins'::regclass
                and not granted`
          await expect.poll(waiting).toHaveLength(others.length)
          return { ending: Promise.all(others) }
        },
      )
      const ended = await ending
      for (const stream of ended) expect((await linesOf(stream)).at(-1)).toEqual({ kind: 'end' })
      const streams = [first]
      while (streams.length <= ended.length)
        streams.push(await until(async () => [await open()].find(({ ok }) => ok)))
      expect((await open()).status).toBe(429)
      return streams
    },
  )
  for (const stream of streams) expect((await linesOf(stream)).at(-1)).toEqual({ kind: 'end' })
})
