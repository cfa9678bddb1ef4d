import { createMetrics } from '@parley/server/core/metrics'
import { createProvider } from '@parley/server/jobs/push/provider'
import { sendAll } from '@parley/server/jobs/push/send'
import { RetryLaterError } from '@parley/server/jobs/tasks'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { serveProvider } from './support/provider.ts'

let provider: Awaited<ReturnType<typeof serveProvider>>
beforeAll(async () => {
  provider = await serveProvider()
})
afterAll(() => provider.stop())
beforeEach(() => {
  provider.behave()
  provider.forget()
})

const events = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    name: 'mention',
    to: `user${index}`,
    payload: {},
    transactionId: `push${index}`,
  }))
async function send(count: number) {
  const metrics = createMetrics()
  const errors: string[] = []
  const log = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (_: object, message: string) => void errors.push(message),
  }
  const { signal } = new AbortController()
  const attempt = sendAll(createProvider(provider.settings), events(count), {
    signal,
    metrics,
    log,
  })
  const error = await attempt.catch((error: unknown) => error)
  const counted = await metrics.registry.getSingleMetricAsString('parley_pushes_total')
  return { error, errors, counted }
}
/** The events of a request, as we send them. */
const batchOf = (body: object) => ('events' in body ? body.events : [body]) as { to: string }[]

test('pushes go to the provider a hundred at a time, and one alone by its own call', async () => {
  await send(201)
  expect(provider.calls.map(({ body }) => batchOf(body).length)).toEqual([100, 100, 1])
  expect(provider.calls.map(({ path }) => path.endsWith('/bulk'))).toEqual([true, true, false])
})

test.each([400, 422])('a push refused with %i is given up alone', async (status) => {
  const taken: string[] = []
  provider.behave((response, { body }) => {
    const users = batchOf(body).map(({ to }) => to)
    if (users.includes('user5')) return response.writeHead(status).end()
    taken.push(...users)
    response.writeHead(201).end()
  })
  const { error, errors, counted } = await send(16)
  expect(error).toBeUndefined()
  expect(taken.sort()).toEqual(
    events(16)
      .flatMap(({ to }) => (to === 'user5' ? [] : [to]))
      .sort(),
  )
  expect(errors).toEqual(['push refused'])
  expect(counted).toContain('outcome="accepted"} 15')
  expect(counted).toContain('outcome="refused"} 1')
})

test('a batch that is refused for another reason is given up as a whole', async () => {
  provider.behave(provider.answer(401))
  const { errors, counted } = await send(16)
  expect(provider.calls).toHaveLength(1)
  expect(errors).toEqual(['push refused'])
  expect(counted).toContain('outcome="refused"} 16')
})

test('only the pushes that were not sent are put off, with the pause asked for', async () => {
  provider.behave((response, call) => {
    const isFirst = provider.calls.length === 1
    const answer = isFirst ? provider.answer(201) : provider.answer(429, { 'retry-after': '7' })
    answer(response, call)
  })
  const { error, counted } = await send(150)
  expect(error).toBeInstanceOf(RetryLaterError)
  expect(error).toMatchObject({ task: 'push-event', jobs: events(150).slice(100) })
  expect(error).toMatchObject({ retryAfterSeconds: 7 })
  expect(counted).toContain('outcome="put_off"} 50')
})
