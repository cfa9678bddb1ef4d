import { startMetricsServer } from '@parley/server/http/metrics-server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sample } from '../support/scrape.ts'
import { until } from '../support/until.ts'
import { useWebhooks } from './fixture.ts'

const { current, startWorker, newScene } = useWebhooks()

let server: Awaited<ReturnType<typeof startMetricsServer>>
beforeAll(async () => {
  const { metrics, pool: db, databaseUrl } = current().world
  const given = { db, databaseUrl, poolSize: 10, port: 0, host: '127.0.0.1' }
  server = await startMetricsServer(metrics, given)
})
afterAll(() => server.stop())

async function oldestSeconds() {
  const answer = await fetch(`http://127.0.0.1:${server.port}/metrics`)
  return sample(await answer.text(), 'parley_webhook_oldest_seconds')
}

test.each(['replay', 'retry'] as const)(
  'a delivery that a %s sends again does not expire at once',
  async (ask) => {
    const { backend, webhookId, send, receive, deliveries } = await newScene()
    startWorker()
    await send('one')
    const delivered = () =>
      until(async () => {
        const [delivery] = await deliveries()
        return delivery?.status === 'delivered' && delivery.id
      })
    const deliveryId = await delivered()
    await current().world.db`
    update webhook_deliveries
    set
      created_at = created_at - interval '20 hours',
      next_attempt_at = next_attempt_at - interval '20 hours'
    where webhook_id = ${webhookId}`
    let accept = () => {}
    current().receiver.answerWith((response) => {
      accept = () => response.writeHead(204).end()
    })
    const since = new Date(Date.now() - 3_600_000).toISOString()
    if (ask === 'replay') await backend.webhooks.replay({ webhookId, since })
    else await backend.webhooks.retry({ webhookId, deliveryId })
    await receive(2)
    expect(await oldestSeconds()).toBeLessThan(60)
    await current().world.db`
    update webhook_deliveries
    set next_attempt_at = next_attempt_at - interval '2 hours'
    where webhook_id = ${webhookId}`
    expect(await oldestSeconds()).toBeGreaterThan(7_000)
    accept()
  },
)
