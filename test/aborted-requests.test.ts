import { rmSync } from 'node:fs'
import { createApi } from '@parley/client/api'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { post, user } from './imports/records.ts'
import { upTo } from './support/events.ts'
import { createDataFolder } from './support/folders.ts'
import { whileRowLocked } from './support/locks.ts'
import { type LogLine, logLines } from './support/log-lines.ts'
import { production, start } from './support/start.ts'
import { until } from './support/until.ts'
import { useWorld } from './support/world.ts'

const directory = createDataFolder('aborted-requests')
const world = useWorld()
let node: ReturnType<typeof start>
let url = ''
let apiKey = ''
let appId = ''

beforeAll(async () => {
  const settings = { LOG_SAMPLE: '0', TRUST_PROXY: '1' }
  node = start({ ...production, DATABASE_URL: world().databaseUrl, ...settings }, directory)
  url = await node.address()
  const { apps } = createApi({ url, adminKey: production.ADMIN_API_KEY })
  const app = await apps.create({ name: 'Aborted' })
  apiKey = app.apiKey
  appId = app.id
})
afterAll(() => {
  node?.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
})

const lines = () => logLines(node)
const lineOf = (find: (line: LogLine) => boolean) => until(() => lines().find(find))

async function populate(userId: string) {
  const { token } = await createApi({ url, apiKey }).tokens.create({ userId })
  const user = createApi({ url, token })
  const { id: channelId } = await user.channels.create({ type: 'group', name: 'Exported' })
  const { id: messageId } = await user.messages.send({ channelId, text: 'hush-text' })
  await user.reactions.add({ channelId, messageId, emoji: '👍' })
  return { user, channelId }
}

const request = (path: string, init: RequestInit & { token?: string } = {}) =>
  fetch(url + path, {
    ...init,
    headers: init.token
      ? { Authorization: `Bearer ${init.token}` }
      : { 'X-API-Key': apiKey, Accept: 'application/x-ndjson' },
  })

/** Holds back what reads or writes reactions while `work` runs. */
const withoutReactions = <T>(work: () => Promise<T>) =>
  whileRowLocked(
    world(),
    (sql) => sql`lock table reactions in access exclusive mode`,
    () => work(),
  )

test('the export of a user that breaks has a line: which, whose and how many bytes', async () => {
  await populate('ana')
  const gone = new AbortController()
  const line = await withoutReactions(async () => {
    const response = await request('/api/users/ana/export', { signal: gone.signal })
    await response.body?.getReader().read()
    gone.abort()
    return lineOf(({ msg, user }) => msg === 'request aborted' && user === 'ana')
  })
  expect(line).toMatchObject({
    level: 'info',
    operation: 'users.export',
    app: appId,
    status: 200,
    ms: expect.any(Number),
    bytes: expect.toSatisfy((bytes) => bytes > 200),
    address: '127.0.0.1',
    requestId: expect.any(String),
    trace: expect.any(String),
  })
})

test('an export that fails in a later page says why, and ends without its last line', async () => {
  await populate('ben')
  await world().db`alter table reactions rename to renamed`
  const response = await request('/api/users/ben/export')
  expect(response.status).toBe(200)
  await expect(response.text()).rejects.toThrow()
  await world().db`alter table renamed rename to reactions`
  expect(await lineOf(({ msg }) => msg === 'request failed')).toMatchObject({
    level: 'error',
    fault: { code: '42P01', message: 'relation "reactions" does not exist' },
  })
  const aborted = await lineOf(({ msg, user }) => msg === 'request aborted' && user === 'ben')
  expect(aborted).toMatchObject({ operation: 'users.export', code: 'INTERNAL_ERROR' })
})

test('a request whose client leaves before its answer has a line, too', async () => {
  const { channelId } = await populate('cem')
  const { token } = await createApi({ url, apiKey }).tokens.create({ userId: 'cem' })
  const gone = new AbortController()
  await withoutReactions(async () => {
    const path = `/api/channels/${channelId}/messages`
    const waiting = request(path, { token, signal: gone.signal }).catch(() => {})
    await until(async () => {
      const rows = await world().db`
        select
        from pg_locks
        where relation = 'reactions'::regclass
          and not granted`
      return rows.length > 0
    })
    gone.abort()
    await waiting
  })
  const line = await lineOf(({ msg, user }) => msg === 'request aborted' && user === 'cem')
  expect(line).toMatchObject({ operation: 'messages.list', app: appId, bytes: 0 })
  expect(line).not.toHaveProperty('status')
})

test('a HEAD of the stream of an export is refused, and nothing is read or noted', async () => {
  await populate('dan')
  const refused = await request('/api/users/dan/export', { method: 'HEAD' })
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET'])
  const noted = await world().db`
    select
    from audit
    where operation = 'users.export'
      and target ->> 'userId' = 'dan'`
  expect(noted).toHaveLength(0)
  // A request that was answered is not logged as aborted.
  expect(lines().filter(({ msg, user }) => msg === 'request aborted' && user === 'dan')).toEqual([])
})

test('an import that is refused amid its lines has a line, also behind a proxy', async () => {
  const { apps } = createApi({ url, adminKey: production.ADMIN_API_KEY })
  const app = await apps.create({ name: 'Closed' })
  const isBegun = async () => {
    const begun = await world().db`
      select
      from imports
      where app_id = ${app.id}`
    return begun.length > 0
  }
  async function* file() {
    yield `${JSON.stringify(user('first'))}\n`
    await until(isBegun)
    await apps.update({ appId: app.id, enabled: false })
    // More than are read before they are stored.
    yield upTo(600)
      .map((n) => `${JSON.stringify(user(`user-${n}`))}\n`)
      .join('')
  }
  const { status } = await post({ url, apiKey: app.apiKey }, ReadableStream.from(file()) as never)
  expect(status).toBe(403)
  const line = await lineOf(({ operation }) => operation === 'imports.run')
  expect(line).toMatchObject({ msg: 'request completed', status: 403, address: '127.0.0.1' })
})
