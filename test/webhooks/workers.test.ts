import { expect, test } from 'vitest'
import { upTo } from '../support/events.ts'
import { until } from '../support/until.ts'
import { useWebhooks } from './fixture.ts'

const { current, startWorker, newScene } = useWebhooks()

test('what a worker was sending when it died is sent by another after its lease', async () => {
  const { world, receiver } = current()
  const { send, receive, texts, deliveries, appId } = await newScene()
  let isDead = false
  const use: typeof world.pool.use = (...given) =>
    isDead ? Promise.reject(new Error('the worker is dead')) : world.pool.use(...given)
  receiver.answerWith(() => {})
  await send('one')
  await send('two')
  const stop = startWorker({ db: { ...world.pool, use } })
  await receive(1)
  // It cannot say what became of it, nor return its lease.
  isDead = true
  await stop()
  const leases = await world.db`
    update webhooks
    set leased_until = now()
    where app_id = ${appId}
      and leased_until > now() + interval '1 minute'
    returning leased_by is not null as "isLeased"`
  expect(leases).toEqual([{ isLeased: true }])
  receiver.behave()
  startWorker()
  const [first, second] = await receive(3)
  expect(texts()).toEqual(['one', 'one', 'two'])
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
  await until(async () => (await deliveries()).every(({ status }) => status === 'delivered'))
})

test('several workers send each event once, those of a channel in order', async () => {
  const { receiver } = current()
  const { send, received, receive, newChannel, deliveries } = await newScene()
  receiver.answerWith((response) => void setImmediate(() => response.writeHead(200).end()))
  const channels = [await newChannel(), await newChannel(), await newChannel()]
  for (let n = 0; n < 3; n++) startWorker({ timings: { pollMs: 10 } })
  await Promise.all(
    channels.map(async (channelId) => {
      for (const n of upTo(8)) await send(`${n}`, channelId)
    }),
  )
  await receive(24)
  await until(async () => (await deliveries()).every(({ status }) => status === 'delivered'))
  expect(received()).toHaveLength(24)
  for (const channelId of channels) {
    const revs = received().flatMap(({ data }) => (data.channelId === channelId ? [data.rev] : []))
    expect(revs).toEqual(upTo(Number(revs.at(-1)), Number(revs[0])))
  }
})

test('a webhook is served by one worker at a time', async () => {
  const { receiver } = current()
  const { send, receive, received, webhook } = await newScene()
  receiver.answerWith(() => {})
  await send('one')
  startWorker()
  await receive(1)
  const other = await newScene()
  receiver.answerWith((response) => response.writeHead(200).end())
  await other.send('two')
  startWorker()
  await other.receive(1)
  expect(received()).toHaveLength(1)
  expect((await webhook())?.failingSince).toBeNull()
})
