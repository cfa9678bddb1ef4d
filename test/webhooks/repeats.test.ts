import { expect, test } from 'vitest'
import { answering } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { useWebhooks } from './fixture.ts'

const { current, startWorker, newScene } = useWebhooks()

/** A receiver that keeps the first request of an app waiting until it is told to answer. */
function holdFirst(path: string) {
  let release = () => {}
  const isReleased = new Promise<void>((resolve) => {
    release = resolve
  })
  current().receiver.answerWith(async (response, one) => {
    const isFirst = current().receiver.at(path).length === 1
    if (one.path === path && isFirst) await isReleased
    answering(200)(response, one)
  })
  return release
}

test('a delivery that is to be sent again while it is on its way is sent again', async () => {
  const { backend, webhookId, path, send, texts, receive, deliveries } = await newScene()
  const release = holdFirst(path)
  startWorker()
  await send('one')
  await receive(1)
  const [delivery] = await deliveries()
  if (!delivery) throw new Error('what was sent is no delivery')
  await backend.webhooks.retry({ webhookId, deliveryId: delivery.id })
  release()
  await receive(2)
  await until(async () => (await deliveries()).every(({ status }) => status === 'delivered'))
  expect(texts()).toEqual(['one', 'one'])
  expect(await deliveries()).toMatchObject([{ id: delivery.id, attempts: 1 }])
})

test('a delivery that an outage interrupted is sent again once the database answers', async () => {
  const { world, receiver } = current()
  const { send, receive, deliveries } = await newScene()
  let failures = 0
  let isOut = false
  const gone = Object.assign(new Error('gone'), { code: 'CONNECTION_CLOSED' })
  const use: typeof world.pool.use = (...given) => {
    if (!isOut) return world.pool.use(...given)
    failures += 1
    return Promise.reject(gone)
  }
  receiver.answerWith((response) => {
    isOut = true
    response.writeHead(200).end()
  })
  await send('one')
  startWorker({ db: { ...world.pool, use } })
  await until(() => failures > 3)
  receiver.behave()
  isOut = false
  // Long before the end of its lease.
  await receive(2)
  await until(async () => (await deliveries()).every(({ status }) => status === 'delivered'))
})

test('while outcomes cannot be stored, a delivery is sent again less and less often', async () => {
  const { world, receiver } = current()
  const { send } = await newScene()
  const full = Object.assign(new Error('no space left'), { code: '53100' })
  const use: typeof world.pool.use = (work, until) =>
    world.pool.use((db, deadline) => {
      const apply = (sql: typeof db, self: unknown, given: [TemplateStringsArray]) =>
        `${given[0]}`.includes('update webhook_deliveries')
          ? Promise.reject(full)
          : Reflect.apply(sql, self, given)
      return work(new Proxy(db, { apply }), deadline)
    }, until)
  const times: number[] = []
  receiver.answerWith((response) => {
    times.push(performance.now())
    response.writeHead(200).end()
  })
  await send('one')
  startWorker({ db: { ...world.pool, use } })
  const [, , , fourth = 0, fifth = 0] = await until(() => times.length >= 5 && times)
  // After pauses of one, two and four polls of 50 ms, one of eight.
  expect(fifth - fourth).toBeGreaterThan(7 * 50)
})
