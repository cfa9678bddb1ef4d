import { topics } from '@parley/contract'
import { expect, onTestFinished, test, vi } from 'vitest'
import { useDatabaseClock } from '../support/database-clock.ts'
import { answering } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { createWorld } from '../support/world.ts'
import { useWebhooks } from './fixture.ts'

const { current, startWorker, newScene } = useWebhooks()

/** How far a receiver may find the time of a request from its own, at most. */
const MOST_OFF_SECONDS = 300

/** Sets the clock of this process, which runs the server, but for that of its database. */
function setClock(hours: number) {
  onTestFinished(() => void vi.useRealTimers())
  vi.setSystemTime(Date.now() + hours * 3_600_000)
}

async function databaseSeconds() {
  const [{ now = 0 } = {}] = await current().world.db<{ now: number }[]>`
    select extract(epoch from clock_timestamp())::float as now`
  return now
}

test.each([-1, 1])(
  'with a clock %i hours off a receiver refuses no webhook for its time',
  async (hours) => {
    const { backend, webhookId, send, receive } = await newScene()
    setClock(hours)
    await send('one')
    await backend.webhooks.test({ webhookId })
    startWorker()
    const received = await receive(2)
    expect(received.map(({ type }) => type).sort()).toEqual(['message.new', 'webhook.test'])
    const now = await databaseSeconds()
    for (const { headers, timestamp } of received) {
      const times = [Number(headers['webhook-timestamp']), Date.parse(timestamp) / 1_000]
      for (const time of times) expect(Math.abs(time - now)).toBeLessThan(MOST_OFF_SECONDS)
    }
  },
)

test('a receiver that says until when to wait is left alone by a clock an hour ahead', async () => {
  const { send, receive, deliveries } = await newScene()
  const now = await databaseSeconds()
  const at = (seconds: number) => new Date((now + seconds) * 1_000).toUTCString()
  current().receiver.answerWith(answering(503, { date: at(0), 'retry-after': at(500) }))
  setClock(1)
  await send('one')
  startWorker()
  await receive(1)
  const [{ nextAttemptAt }] = await until(async () => {
    const [delivery] = await deliveries()
    return delivery?.attempts === 1 && delivery.nextAttemptAt !== null && [delivery]
  })
  expect(Date.parse(nextAttemptAt ?? '') / 1_000 - now).toBeGreaterThan(400)
})

test('an event of before the clock was set forward is found, though committed after', async () => {
  const { world } = current()
  const { appId, channelId, texts, receive, send } = await newScene()
  const clock = await useDatabaseClock(world, ['now', 'clock_timestamp'])
  const node = await createWorld({ databaseUrl: world.databaseUrl })
  onTestFinished(() => node.stop())
  await send('one')
  for (const _ of ['collects', 'may take its turn']) startWorker({ db: node.pool })
  await receive(1)
  /** When the turn of the worker ends, by its clock: it renews it with each pass. */
  const turnEnds = async () => {
    const [{ at = 0 } = {}] = await world.db<{ at: number }[]>`
      select extract(epoch from (value::jsonb ->> 'until')::timestamptz)::float as at
      from service
      where key = 'webhooks_collector'`
    return at
  }
  const [before, begun] = [await turnEnds(), await databaseSeconds()]
  await clock.set('1 hour')
  const first = await until(async () => (await turnEnds()) > before + 3_000 && (await turnEnds()))
  // It has looked back in the meantime, more than once.
  await until(async () => (await turnEnds()) > first + 1.5)
  await world.db`
    insert into events (topic, "offset", type, envelope, created_at)
    values (
      ${topics.channel(appId, channelId)}, 901, 'message.new',
      ${JSON.stringify({ type: 'message.new', payload: { message: { text: 'late' } } })},
      to_timestamp(${begun})
    )`
  await receive(2)
  expect(texts()).toEqual(['one', 'late'])
})
