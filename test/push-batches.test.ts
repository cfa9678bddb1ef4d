import { createMetrics } from '@parley/server/core/metrics'
import { KEPT_AN_HOUR, KEPT_OF_ALL, limitKept } from '@parley/server/jobs/push/limit-kept'
import { createProvider } from '@parley/server/jobs/push/provider'
import { sendAll } from '@parley/server/jobs/push/send'
import { RetryLaterError } from '@parley/server/jobs/tasks'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { stopClock } from './support/clock.ts'
import { triggersOf } from './support/novu.ts'
import { serveProvider } from './support/provider.ts'

let provider: Awaited<ReturnType<typeof serveProvider>>
beforeAll(async () => {
  provider = await serveProvider()
})
afterAll(() => provider.stop())
beforeEach(() => {
  provider.behave()
  provider.decide()
  provider.forget()
})

const job = { appId: 'app', messageId: 'message' }
const events = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    job,
    userId: `user${index}`,
    name: 'mention',
    to: `user${index}`,
    payload: {},
    transactionId: `push${index}`,
  }))
/** The job that makes these pushes again. */
const jobFor = (pushes: { userId: string }[]) => ({
  ...job,
  userIds: pushes.map(({ userId }) => userId),
})
async function send(count: number) {
  const metrics = createMetrics()
  const errors: string[] = []
  const refusals: object[] = []
  const log = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (facts: object, message: string) => {
      errors.push(message)
      refusals.push(facts)
    },
  }
  const kept: { jobs: object[]; reason: string }[] = []
  const attempt = sendAll<'push-message'>(createProvider(provider.settings), events(count), {
    task: 'push-message',
    only: (job, userIds) => ({ ...job, userIds }),
    signal: new AbortController().signal,
    metrics,
    log,
    keepRefused: async (jobs, reason) => void kept.push({ jobs, reason }),
  })
  const error = await attempt.catch((error: unknown) => error)
  const counted = await metrics.registry.getSingleMetricAsString('parley_pushes_total')
  return { error, errors, refusals, kept, counted }
}

test('pushes go to the provider a hundred at a time, and one alone by its own call', async () => {
  await send(201)
  expect(provider.calls.map((call) => triggersOf(call).length)).toEqual([100, 100, 1])
  expect(provider.calls.map(({ path }) => path.endsWith('/bulk'))).toEqual([true, true, false])
})

test.each([400, 413, 422])('a push refused with %i is given up alone', async (status) => {
  const taken: string[] = []
  provider.behave((response, call) => {
    const users = triggersOf(call).map(({ to }) => to)
    if (users.includes('user5')) return response.writeHead(status).end()
    taken.push(...users)
    provider.accept(response, call)
  })
  const { error, errors, kept, counted } = await send(16)
  expect(error).toBeUndefined()
  expect(kept).toEqual([
    { jobs: [jobFor([{ userId: 'user5' }])], reason: expect.stringContaining(`refused: POST`) },
  ])
  expect(taken.sort()).toEqual(
    events(16)
      .flatMap(({ to }) => (to === 'user5' ? [] : [to]))
      .sort(),
  )
  expect(errors).toEqual(['push refused'])
  expect(counted).toContain('outcome="accepted"} 15')
  expect(counted).toContain('outcome="refused"} 1')
})

test.each([401, 403, 404, 409])('a provider that answers %i loses no push', async (status) => {
  provider.behave(provider.answer(status))
  const { error, errors, kept, counted } = await send(16)
  expect(provider.calls).toHaveLength(1)
  expect(error).toMatchObject({ task: 'push-message', jobs: [jobFor(events(16))] })
  expect(error).toMatchObject({ cause: { message: expect.stringContaining(`${status}`) } })
  expect([errors, kept]).toEqual([[], []])
  expect(counted).toContain('outcome="put_off"} 16')
})

test('a refusal counts once, although the rest of its call finds no provider', async () => {
  provider.behave((response, call) => {
    const users = triggersOf(call).map(({ to }) => to)
    if (users.includes('user1')) return response.writeHead(422).end()
    const answer = users.includes('user0') ? provider.accept : provider.answer(503)
    answer(response, call)
  })
  const { error, kept, counted } = await send(4)
  expect(error).toMatchObject({ jobs: [{ ...job, userIds: ['user2', 'user3'] }] })
  expect(error).toMatchObject({ cause: { message: expect.stringContaining('503') } })
  expect(kept).toMatchObject([{ jobs: [{ ...job, userIds: ['user1'] }] }])
  for (const outcome of ['accepted"} 1', 'refused"} 1', 'put_off"} 2'])
    expect(counted).toContain(`outcome="${outcome}`)
})

test('only the pushes that were not sent are put off, with the pause asked for', async () => {
  provider.behave((response, call) => {
    const isFirst = provider.calls.length === 1
    const answer = isFirst ? provider.accept : provider.answer(429, { 'retry-after': '7' })
    answer(response, call)
  })
  const { error, counted } = await send(150)
  expect(error).toBeInstanceOf(RetryLaterError)
  expect(error).toMatchObject({ task: 'push-message', jobs: [jobFor(events(150).slice(100))] })
  expect(error).toMatchObject({ retryAfterSeconds: 7 })
  expect(counted).toContain('outcome="put_off"} 50')
})

test('pushes of a workflow that the provider lacks are refused, and logged once', async () => {
  provider.decide(() => ({ status: 'error', error: ['workflow_not_found'] }))
  const { error, errors, refusals, kept, counted } = await send(16)
  expect(error).toBeUndefined()
  expect(provider.calls).toHaveLength(1)
  expect(errors).toEqual(['push refused'])
  expect(refusals).toMatchObject([
    { workflow: 'mention', reason: 'error: workflow_not_found', pushes: 16 },
  ])
  const jobs = [jobFor(events(16))]
  expect(kept).toEqual([{ jobs, reason: 'refused: error: workflow_not_found' }])
  expect(counted).toContain('outcome="accepted"} 0')
  expect(counted).toContain('outcome="refused"} 16')
})

test.each([
  ...['trigger_not_active', 'no_workflow_active_steps_defined'],
  ...['subscriber_id_missing', 'no_tenant_found', 'invalid_recipients'],
])('a push that the provider acknowledges as %s is refused', async (status) => {
  provider.decide(({ to }) => ({ status: to === 'user1' ? status : 'processed' }))
  for (const count of [2, 3]) {
    const { error, refusals, counted } = await send(count)
    expect(error).toBeUndefined()
    expect(refusals).toMatchObject([{ reason: status, pushes: 1, transactionId: 'push1' }])
    expect(counted).toContain(`outcome="accepted"} ${count - 1}`)
    expect(counted).toContain('outcome="refused"} 1')
  }
})

test.each(['Trigger is missing', 'payload is too large', 'validation failed', 'invalid phone'])(
  'a push with which the provider meets the error "%s" is refused',
  async (reason) => {
    provider.decide(() => ({ status: 'error', error: [reason] }))
    const { error, refusals } = await send(2)
    expect(error).toBeUndefined()
    expect(refusals).toMatchObject([{ reason: `error: ${reason}`, pushes: 2 }])
  },
)

test('a push alone that the provider acknowledges but does not process is refused', async () => {
  provider.decide(() => ({ status: 'no_workflow_steps_defined' }))
  const { refusals, counted } = await send(1)
  expect(refusals).toMatchObject([{ reason: 'no_workflow_steps_defined' }])
  expect(counted).toContain('outcome="refused"} 1')
})

test('pushes that the provider fails at are put off, and no others of their batch', async () => {
  provider.decide(({ to }) =>
    to === 'user3' || to === 'user120'
      ? { status: 'error', error: ['connect ECONNREFUSED 10.0.0.7:6379'] }
      : { status: 'processed' },
  )
  const { error, errors, counted } = await send(150)
  expect(error).toBeInstanceOf(RetryLaterError)
  const jobs = [{ ...job, userIds: ['user3', 'user120'] }]
  expect(error).toMatchObject({ task: 'push-message', jobs, retryAfterSeconds: 0 })
  expect(errors).toEqual([])
  expect(counted).toContain('outcome="accepted"} 148')
  expect(counted).toContain('outcome="put_off"} 2')
})

test.each(['', '{}', '{"acknowledged":true}'])(
  'an answer without outcomes accepts the pushes: %j',
  async (body) => {
    provider.behave((response) => response.writeHead(201).end(body))
    const { error, counted } = await send(2)
    expect(error).toBeUndefined()
    expect(counted).toContain('outcome="accepted"} 2')
  },
)

test.each([
  ['a page', '<html>Welcome</html>'],
  ['too few outcomes', '{"data":[{"acknowledged":true,"status":"processed"}]}'],
  ['an outcome of one', '{"data":{"acknowledged":true,"status":"processed"}}'],
  ['an error without a reason', '{"data":[{"status":"error"},{"status":"error"}]}'],
  ['unknown statuses', '{"data":[{"status":"queued"},{"status":"queued"}]}'],
])('pushes that are answered with %s are put off, not counted as accepted', async (_, body) => {
  provider.behave((response) => response.writeHead(201).end(body))
  const { error, counted } = await send(2)
  expect(error).toMatchObject({ task: 'push-message', jobs: [jobFor(events(2))] })
  expect(counted).not.toContain('outcome="accepted"} 2')
  expect(counted).toContain('outcome="put_off"} 2')
})

test('a process keeps the refusals of an hour up to a hundred of each app', () => {
  const { putForward } = stopClock()
  const mayKeep = limitKept()
  const keptOf = (appId: string, count: number) =>
    Array.from({ length: count }, () => mayKeep(appId)).filter(Boolean).length
  expect(keptOf('a', KEPT_AN_HOUR + 10)).toBe(KEPT_AN_HOUR)
  putForward(3_599_999)
  expect(keptOf('a', 1)).toBe(0)
  expect(keptOf('b', KEPT_AN_HOUR + 10)).toBe(KEPT_AN_HOUR)
  putForward(3_600_000)
  expect(keptOf('a', KEPT_AN_HOUR + 10)).toBe(KEPT_AN_HOUR)
})

test('the refusals of very many apps are kept up to a thousand an hour', () => {
  const mayKeep = limitKept()
  const apps = Array.from({ length: KEPT_OF_ALL + 10 }, (_, index) => `app${index}`)
  expect(apps.filter(mayKeep)).toHaveLength(KEPT_OF_ALL)
})
