import { parseArgs } from 'node:util'
import { createApi } from '@parley/client/api'
import { type Envelope, topics } from '@parley/contract'
import { WebSocketServer } from 'ws'
import { measureWorkers } from './cluster/workers.ts'
import { openSockets, percentile, print, startNode, withDatabase } from './support.ts'

/**
 * How fast one process delivers to many sockets, compared in the same run with a bare `ws` loop
 * that sends the same bytes to as many sockets with the same coalescing. The numbers depend on the
 * machine; the ratio is what counts. The sockets are in another process.
 * `--workers 1,2` measures servers with that many worker processes instead.
 */
const { values: given } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    workers: { type: 'string' },
  },
})
const isSmoke = given.smoke
const SUBSCRIBERS = isSmoke ? [20] : [1_000, 10_000]
const MILLISECONDS = isSmoke ? 100 : 5_000
/** The messages published in one tick, like a burst in a busy channel. */
const BURST = 8
const IDLE_SOCKETS = isSmoke ? 20 : 10_000
/** How many events are published to measure the latency, and how many messages are sent. */
const EVENTS = isSmoke ? 1_000 : 10_000
const SENDS = isSmoke ? 50 : 500
const CONNECTED = isSmoke ? 20 : 1_000

if (given.workers) {
  const counts = given.workers.split(',').map(Number)
  await measureWorkers(counts, { sockets: CONNECTED, seconds: isSmoke ? 1 : 10 })
} else await withDatabase(measureAll)

async function measureAll(databaseUrl: string) {
  const node = await startNode(databaseUrl)
  const { app, channelId, user, publisher } = node
  const topic = topics.channel(app.id, channelId)

  print(
    'memory an idle, subscribed socket (KiB)',
    await memoryOf(node, { token: user.wsToken, topic }),
  )
  for (const count of SUBSCRIBERS) {
    const sockets = await openSockets({
      url: node.wsUrl,
      count,
      commands: [
        { id: 1, connect: { token: user.wsToken } },
        { id: 2, subscribe: { channel: topic } },
      ],
    })
    const ours = await measure(sockets, (offset) =>
      publisher.broadcast({ kind: 'event', topic, ...sample(channelId, { n: offset }) }),
    )
    await sockets.close()

    const bare = await startBare()
    const bareSockets = await openSockets({ url: bare.url, count, commands: [] })
    const theirs = await measure(bareSockets, (offset) =>
      bare.publish(
        JSON.stringify({
          push: { channel: topic, pub: { data: sample(channelId, { n: offset }) } },
        }),
      ),
    )
    await bareSockets.close()
    await bare.stop()
    print(`deliveries/s to ${count} sockets`, {
      parley: Math.round(ours.perSecond),
      'bare ws': Math.round(theirs.perSecond),
      ratio: (ours.perSecond / theirs.perSecond).toFixed(2),
    })
    // The receiving process may be the slower one, so the cost to the sender is measured apart.
    print(`deliveries a second of the CPU that sends to ${count} sockets`, {
      parley: Math.round(ours.perCpuSecond),
      'bare ws': Math.round(theirs.perCpuSecond),
      ratio: (ours.perCpuSecond / theirs.perCpuSecond).toFixed(2),
    })
  }

  // Runs first, because the other one publishes events with offsets that the database does not
  // know.
  await endToEnd(node)
  await latency(node, { topic, token: user.wsToken })
  await node.stop()
}

/** A message with a mark that the receiving process reads. */
function sample(channelId: string, mark: { n: number } | { at: number }) {
  const message = { id: channelId, channelId, userId: 'ana', ...mark, text: 'x'.repeat(400) }
  // The receiving process reads only the mark.
  return { type: 'message.new', payload: { channelId, message } } as unknown as Envelope
}

type Sockets = Awaited<ReturnType<typeof openSockets>>

/**
 * Publishes bursts as fast as they are received. Returns the deliveries per second, and per second
 * of this process's CPU time.
 */
async function measure(sockets: Sockets, publish: (offset: number) => void) {
  let sent = 0
  const round = async () => {
    for (let each = 0; each < BURST; each++) publish(++sent)
    await sockets.received(sent)
  }
  for (let warmUp = 0; warmUp < 10; warmUp++) await round()
  const before = sent
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  while (performance.now() - startedAt < MILLISECONDS) await round()
  const seconds = (performance.now() - startedAt) / 1000
  const cpu = process.cpuUsage(cpuBefore)
  const deliveries = (sent - before) * sockets.count
  return {
    perSecond: deliveries / seconds,
    perCpuSecond: (deliveries * 1_000_000) / (cpu.user + cpu.system),
  }
}

async function startBare() {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
  await new Promise((resolve) => server.on('listening', resolve))
  let waiting: string[] = []
  const flush = () => {
    const frame = Buffer.from(waiting.join('\n'))
    waiting = []
    for (const socket of server.clients) socket.send(frame, { binary: false })
  }
  return {
    url: `ws://127.0.0.1:${(server.address() as { port: number }).port}`, // listening on TCP
    publish: (message: string) => {
      if (waiting.push(message) === 1) setImmediate(flush)
    },
    stop: () => new Promise((resolve) => server.close(resolve)),
  }
}

/** The memory that a socket adds to this process: heap and buffers, after garbage collection. */
async function memoryOf(
  node: Awaited<ReturnType<typeof startNode>>,
  { token, topic }: { token: string; topic: string },
) {
  const measure = () => {
    globalThis.gc?.()
    globalThis.gc?.()
    const { heapUsed, external, rss } = process.memoryUsage()
    return { heap: heapUsed + external, rss }
  }
  const before = measure()
  const sockets = await openSockets({
    url: node.wsUrl,
    count: IDLE_SOCKETS,
    commands: [
      { id: 1, connect: { token } },
      { id: 2, subscribe: { channel: topic } },
    ],
  })
  const after = measure()
  await sockets.close()
  return {
    'heap and buffers': ((after.heap - before.heap) / 1024 / IDLE_SOCKETS).toFixed(1),
    rss: ((after.rss - before.rss) / 1024 / IDLE_SOCKETS).toFixed(1),
  }
}

/**
 * The time from publishing to reading the last byte, at 1,000 durable events a second in 50
 * channels of 20 subscribers. The events are handed to the hub as after a commit.
 */
async function latency(
  node: Awaited<ReturnType<typeof startNode>>,
  { topic: first, token }: { topic: string; token: string },
) {
  const names = [first, ...node.moreChannels.map((id) => topics.channel(node.app.id, id))]
  const sockets = await openSockets({
    url: node.wsUrl,
    count: names.length * 20,
    commands: [{ id: 1, connect: { token } }],
    topics: names,
    stamped: true,
  })
  const offsets = new Map<string, number>(
    await Promise.all(names.map(async (name) => [name, await node.topOf(name)] as const)),
  )
  const total = EVENTS
  const startedAt = performance.now()
  for (let sent = 0; sent < total; ) {
    const due = Math.min(total, Math.floor(performance.now() - startedAt))
    for (; sent < due; sent++) {
      const topic = names[sent % names.length] ?? first
      const offset = (offsets.get(topic) ?? 0) + 1
      offsets.set(topic, offset)
      const event = sample(node.channelId, { at: performance.timeOrigin + performance.now() })
      const envelope = JSON.stringify(event)
      node.publisher.publish([{ ...event, topic, offset, envelope, messageId: null }])
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  const latencies = await sockets.latencies(total * 20)
  print('publish to deliver at 1,000/s × 20 (ms)', {
    deliveries: latencies.length,
    p50: percentile(latencies, 50),
    p99: percentile(latencies, 99),
  })
  await sockets.close()
}

/**
 * The time from calling the API to reading the event, of messages sent one after the other to a
 * channel with this many connected sockets. The CPU is that of the server and of the sender, which
 * share this process.
 */
async function endToEnd(node: Awaited<ReturnType<typeof startNode>>) {
  const { app, channelId, user } = node
  const sockets = await openSockets({
    url: node.wsUrl,
    count: CONNECTED,
    commands: [
      { id: 1, connect: { token: user.wsToken } },
      { id: 2, subscribe: { channel: topics.channel(app.id, channelId) } },
    ],
    stamped: true,
  })
  const ana = createApi({ url: node.url, token: user.token })
  const send = () => {
    const at = performance.timeOrigin + performance.now()
    return ana.messages.send({ channelId, text: 'The soup is ready', custom: { at } })
  }
  const cpuBefore = process.cpuUsage()
  for (let sent = 0; sent < SENDS; sent++) await send()
  const latencies = await sockets.latencies(SENDS * CONNECTED)
  const cpu = process.cpuUsage(cpuBefore)
  print(`send to event, ${CONNECTED} connected (ms)`, {
    deliveries: latencies.length,
    p50: percentile(latencies, 50),
    p99: percentile(latencies, 99),
    'CPU µs a send': Math.round((cpu.user + cpu.system) / SENDS),
  })
  await sockets.close()
}
