import type { EventPattern } from '@parley/contract'
import { createGuardedRequest } from '@parley/server/core/guarded-request'
import { timings as defaults, type Timings } from '@parley/server/jobs/timings'
import { startWebhooks } from '@parley/server/jobs/webhooks/index'
import { createReplays } from '@parley/server/jobs/webhooks/replay'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { silentLog } from '../support/jobs.ts'
import { serveReceiver } from '../support/receiver.ts'
import { TWIN_APP_ID } from '../support/twin/index.ts'
import { until } from '../support/until.ts'
import { createWorld, type World } from '../support/world.ts'

type Options = {
  timings?: Partial<Timings>
  log?: typeof silentLog
  resolver?: Parameters<typeof startWebhooks>[0]['webhooks']['resolver']
  db?: World['pool']
}

/** Pauses of milliseconds in place of seconds. A slow machine is no reason to send again. */
const quick = {
  pollMs: 50,
  backOffMs: 1,
  webhookSweepMs: 500,
  webhookLeaseMs: 600_000,
  webhookTimeoutMs: 60_000,
}

/** A world whose webhooks may be sent to a receiver, by workers that each test starts. */
export function useWebhooks() {
  let fixture: { world: World; receiver: Awaited<ReturnType<typeof serveReceiver>> } | undefined
  const current = () => {
    if (!fixture) throw new Error('the world exists only while tests run')
    return fixture
  }
  const stops: (() => Promise<unknown>)[] = []
  beforeAll(async () => {
    const receiver = await serveReceiver()
    const webhooks = { allowedHosts: [receiver.host], mustBeHttps: false }
    fixture = { world: await createWorld({ webhooks }), receiver }
  })
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop()
    const { world, receiver } = current()
    receiver.behave()
    // Deliveries that a test has left are not sent during the next one.
    await world.db`delete from webhooks where app_id <> ${TWIN_APP_ID}`
  })
  afterAll(async () => {
    await fixture?.world.stop()
    await fixture?.receiver.stop()
  })

  /** Starts the sending of deliveries, until the test ends. */
  const startWorker = ({ timings, log = silentLog, resolver, db }: Options = {}) => {
    const { world, receiver } = current()
    const stop = startWebhooks({
      db: db ?? world.pool,
      metrics: world.metrics,
      webhooks: { allowedHosts: [receiver.host], resolver },
      timings: { ...defaults, ...quick, ...timings },
      log,
    })
    stops.push(stop)
    return stop
  }

  /** The context of a turn of a worker. */
  const deliverContext = () => {
    const { world } = current()
    return {
      db: world.pool,
      request: createGuardedRequest({ allowedHosts: [] }),
      timings: defaults,
      metrics: world.metrics,
      log: silentLog,
      signal: new AbortController().signal,
      replays: createReplays(),
    }
  }

  /** A new app with a group of ana's, and a webhook at a path of its own. */
  const newScene = async (...events: EventPattern[]) => {
    const { world, receiver } = current()
    const { id: appId, apiKey } = await world.operator.apps.create({ name: 'Hooks' })
    const backend = world.api({ apiKey })
    await backend.users.sync({ users: [{ id: 'ana' }, { id: 'ben' }] })
    const ana = world.api({ apiKey, userId: 'ana' })
    const newChannel = async () =>
      (await ana.channels.create({ type: 'group', name: 'Talk', memberIds: ['ben'] })).id
    const channelId = await newChannel()
    const path = `/${appId}`
    const { id: webhookId, secret } = await backend.webhooks.create({
      url: `${receiver.url}${path}`,
      events: events.length > 0 ? events : ['message.*'],
    })
    const send = (text: string, to = channelId) => ana.messages.send({ channelId: to, text })
    const received = () => receiver.at(path)
    const texts = () => received().map(textOf)
    /** Waits until the receiver has had this many. */
    const receive = (count: number) => until(() => received().length >= count && received())
    const webhook = async () => (await backend.webhooks.list()).webhooks[0]
    const deliveries = async () => (await backend.webhooks.deliveries({ webhookId })).deliveries
    return {
      ...{ appId, apiKey, backend, ana, channelId, newChannel, path, webhookId, secret },
      ...{ send, received, texts, receive, webhook, deliveries },
    }
  }
  return { current, startWorker, deliverContext, newScene }
}

/** The text of the message that was sent. */
export const textOf = ({ data }: { data: Record<string, unknown> }) =>
  (data.message as { text?: string } | undefined)?.text // as the server sends messages
