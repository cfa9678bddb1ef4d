import { limits } from '@parley/contract'
import { createWebhookUrlCheck } from '@parley/server/core/webhook-urls'
import { expect, test } from 'vitest'
import { inBatches } from '../support/batches.ts'
import { whileRowLocked } from '../support/locks.ts'
import { invalid, refusal } from '../support/refusal.ts'
import { until } from '../support/until.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()
const url = 'https://shop.example.com/parley'

/** The backend of an app without webhooks. */
async function newBackend() {
  const { id: appId, apiKey } = await world().operator.apps.create({ name: 'Hooks' })
  return { appId, backend: world().api({ apiKey }) }
}

test('a webhook is created with a secret, which no other answer shows', async () => {
  const { backend } = await newBackend()
  const { secret, ...webhook } = await backend.webhooks.create({
    url,
    events: ['message.*', 'channel.added', 'message.*'],
    description: 'Order mails',
  })
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/)
  expect(webhook).toMatchObject({
    url,
    events: ['message.*', 'channel.added'],
    enabled: true,
    description: 'Order mails',
    disabledReason: null,
    failingSince: null,
  })
  expect(await backend.webhooks.list()).toEqual({ webhooks: [webhook] })
  const changed = await backend.webhooks.update({ webhookId: webhook.id, description: null })
  expect(changed).toEqual({ ...webhook, description: null })
})

test('a change of a webhook leaves what it does not name as it is', async () => {
  const { backend } = await newBackend()
  const { secret: _, ...created } = await backend.webhooks.create({ url, events: ['*'] })
  const { id: webhookId } = created
  const other = 'https://other.example.com/'
  expect(await backend.webhooks.update({ webhookId })).toEqual(created)
  expect(await backend.webhooks.update({ webhookId, url: other })).toEqual({
    ...created,
    url: other,
  })
  const disabled = await backend.webhooks.update({ webhookId, enabled: false })
  expect(disabled).toEqual({ ...created, url: other, enabled: false })
  expect(await backend.webhooks.update({ webhookId, events: ['reaction.added'] })).toEqual({
    ...disabled,
    events: ['reaction.added'],
  })
})

test('a deleted webhook is not listed, and cannot be changed, tested or replayed', async () => {
  const { backend } = await newBackend()
  const { id: webhookId } = await backend.webhooks.create({ url, events: ['*'] })
  expect(await backend.webhooks.delete({ webhookId })).toEqual({ success: true })
  expect(await backend.webhooks.list()).toEqual({ webhooks: [] })
  const since = new Date(Date.now() - 60_000).toISOString()
  for (const call of [
    () => backend.webhooks.delete({ webhookId }),
    () => backend.webhooks.update({ webhookId }),
    () => backend.webhooks.rotate({ webhookId }),
    () => backend.webhooks.test({ webhookId }),
    () => backend.webhooks.deliveries({ webhookId }),
    () => backend.webhooks.replay({ webhookId, since }),
  ])
    expect(await refusal(call())).toMatchObject({ code: 'NOT_FOUND' })
})

test('an app has at most twenty webhooks, also when many are created at once', async () => {
  const { backend } = await newBackend()
  const tries = Array.from({ length: limits.webhooks.most + 5 }, (_, index) => index)
  const outcomes = await inBatches(tries, 25, (index) =>
    backend.webhooks.create({ url: `${url}/${index}`, events: ['*'] }).then(
      () => 'created',
      (error) => error.code,
    ),
  )
  expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(20)
  expect(outcomes.filter((outcome) => outcome === 'VALIDATION_ERROR')).toHaveLength(5)
  expect((await backend.webhooks.list()).webhooks).toHaveLength(20)
})

test('webhooks of an app are created one after the other', async () => {
  const { appId, backend } = await newBackend()
  const { db } = world()
  let isSettled = false
  const settle = (outcome: string) => {
    isSettled = true
    return outcome
  }
  const { created } = await whileRowLocked(
    world(),
    async (sql) => {
      await sql`select from apps where id = ${appId} for no key update`
      await sql`
        insert into webhooks (id, app_id, url, events, secret)
        select gen_random_uuid(), ${appId}, ${url}, '{*}', ''
        from generate_series(1, ${limits.webhooks.most}::int)`
    },
    async () => {
      const created = backend.webhooks.create({ url, events: ['*'] }).then(
        () => settle('created'),
        (error) => settle(error.code),
      )
      const isWaiting = async () => {
        const waiting = await db`
          select
          from pg_stat_activity
          where datname = current_database()
            and wait_event_type = 'Lock'
            and query like '%from apps%'`
        return waiting.length > 0
      }
      await until(async () => isSettled || (await isWaiting()))
      return { created }
    },
  )
  expect(await created).toBe('VALIDATION_ERROR')
})

test('only durable events, their nouns and all can be asked for', async () => {
  const { backend } = await newBackend()
  const create = (...events: string[]) =>
    backend.webhooks.create({ url, events } as Parameters<typeof backend.webhooks.create>[0])
  const { events } = await create('*', 'message.*', 'channel.removed', 'workspace.removed')
  expect(events).toHaveLength(4)
  for (const event of ['typing.start', 'message.', 'mess*', 'message.*.new', 'presence.*', ''])
    expect(await refusal(create(event))).toMatchObject({ code: 'VALIDATION_ERROR' })
  for (const count of [0, 51])
    expect(await refusal(create(...Array<string>(count).fill('*')))).toEqual(invalid)
})

test.each([
  'ftp://shop.example.com/',
  'https://user:word@shop.example.com/',
  'https://shop.example.com:8443/',
  'http://127.0.0.1/',
  'http://169.254.169.254/',
  'https://[::1]/',
  'https://2130706433/',
  'http://localhost./',
  'https://Shop.localhost/',
  'https://printer.local.',
  'https://metadata.google.internal/',
  'https://printer.home.arpa/',
  'https://intranet/hook',
])('%s is refused as the URL of a webhook', async (url) => {
  const { backend } = await newBackend()
  expect(await refusal(backend.webhooks.create({ url, events: ['*'] }))).toMatchObject({
    code: 'VALIDATION_ERROR',
  })
  const { id: webhookId } = await backend.webhooks.create({
    url: 'https://shop.example.com/',
    events: ['*'],
  })
  expect(await refusal(backend.webhooks.update({ webhookId, url }))).toMatchObject({
    code: 'VALIDATION_ERROR',
  })
})

test('a production server takes http only for hosts that the operator allows', () => {
  const problemOf = createWebhookUrlCheck({
    mustBeHttps: true,
    allowedHosts: ['shop.intranet:80', '10.0.0.7:8080'],
  })
  const allowed = 'or a host:port that WEBHOOK_ALLOW_HOSTS of the server names'
  expect(problemOf('http://shop.example.com/')).toBe(`expected an https URL, ${allowed}`)
  expect(problemOf('https://shop.internal/')).toBe(`expected a public address, ${allowed}`)
  expect(problemOf('https://shop.example.com:8080/')).toBe(`expected the default port, ${allowed}`)
  expect(problemOf('https://shop.example.com/')).toBeUndefined()
  expect(problemOf('http://shop.intranet/')).toBeUndefined()
  expect(problemOf('http://10.0.0.7:8080/hook')).toBeUndefined()
  expect(problemOf('http://10.0.0.7:8081/hook')).toBe(`expected an https URL, ${allowed}`)
  expect(problemOf('http://user@shop.intranet/')).toBe('expected a URL without credentials')
})

test('pages of deliveries have each delivery once, the newest first', async () => {
  const { backend } = await newBackend()
  const { id: webhookId } = await backend.webhooks.create({ url, events: ['*'] })
  const { id: otherId } = await backend.webhooks.create({ url, events: ['*'] })
  const ids: string[] = []
  for (let n = 0; n < 5; n++) {
    const { id, ...delivery } = await backend.webhooks.test({ webhookId })
    await backend.webhooks.test({ webhookId: otherId })
    ids.unshift(id)
    expect(delivery).toMatchObject({
      eventType: 'webhook.test',
      status: 'pending',
      attempts: 0,
      responseStatus: null,
      error: null,
    })
  }
  const listed: string[] = []
  let cursor: string | undefined
  let pages = 0
  do {
    const page = await backend.webhooks.deliveries({ webhookId, limit: 2, cursor })
    listed.push(...page.deliveries.map(({ id }) => id))
    cursor = page.nextCursor ?? undefined
    pages++
  } while (cursor !== undefined)
  expect([listed, pages]).toEqual([ids, 3])
  for (const bad of ['nonsense', Buffer.from('["x",""]').toString('base64url')])
    expect(await refusal(backend.webhooks.deliveries({ webhookId, cursor: bad }))).toMatchObject({
      code: 'VALIDATION_ERROR',
    })
  for (const deliveryId of [`${ids[0]}x`, `x${ids[0]}`, '0'])
    expect(await refusal(backend.webhooks.retry({ webhookId, deliveryId }))).toMatchObject({
      code: 'NOT_FOUND',
    })
})

test('a replay begins within the time for which events are kept', async () => {
  const { backend } = await newBackend()
  const { id: webhookId } = await backend.webhooks.create({ url, events: ['*'] })
  const hour = 3_600_000
  const replay = (hours: number) =>
    backend.webhooks.replay({ webhookId, since: new Date(Date.now() - hours * hour).toISOString() })
  expect(await replay(limits.eventsKeptHours - 1)).toEqual({ success: true })
  for (const hours of [limits.eventsKeptHours + 1, -1])
    expect(await refusal(replay(hours))).toMatchObject({ code: 'VALIDATION_ERROR' })
  for (const since of ['0000-01-01T00:00:00Z', `2026-01-01T00:00:00.${'1'.repeat(500)}Z`])
    expect(await refusal(backend.webhooks.replay({ webhookId, since }))).toMatchObject({
      code: 'VALIDATION_ERROR',
    })
})

test('the replay that goes back further is made if two were requested', async () => {
  const { backend } = await newBackend()
  const { id: webhookId } = await backend.webhooks.create({ url, events: ['*'] })
  const now = Date.now()
  const replay = async (hours: number) => {
    const since = new Date(now - hours * 3_600_000).toISOString()
    await backend.webhooks.replay({ webhookId, since })
    const [row] = await world().db<{ ms: number }[]>`
      select (extract(epoch from replay_since) * 1000)::float8 as ms
      from webhooks
      where id = ${webhookId}`
    return Math.round((now - (row?.ms ?? 0)) / 3_600_000)
  }
  expect([await replay(2), await replay(1), await replay(3)]).toEqual([2, 2, 3])
})
