import { type Envelope, topics } from '@parley/contract'
import { WebSocketServer } from 'ws'
import { openCrowd, percentile, print, startNode, withDatabase } from './support.ts'

/**
 * How fast one process delivers to many sockets, beside a bare `ws` loop that sends the same bytes to as many sockets with
 * the same coalescing, in the same run: each number is of this machine, the ratio is what counts. The sockets are in another process.
 */
const SUBSCRIBERS = [1_000, 10_000]
const MILLISECONDS = 5_000
/** What is published a tick: a burst, as a busy channel sees it. */
const BURST = 8
const IDLE_SOCKETS = 10_000

await withDatabase(async (databaseUrl) => {
  const node = await startNode(databaseUrl)
  const { app, channelId, user, publisher } = node
  const topic = topics.channel(app.id, channelId)

  print(
    'memory an idle, subscribed socket (KiB)',
    await memoryOf(node, { token: user.wsToken, topic }),
  )
  for (const count of SUBSCRIBERS) {
    const crowd = await openCrowd({
      url: node.wsUrl,
      count,
      hello: [
        { id: 1, connect: { token: user.wsToken } },
        { id: 2, subscribe: { channel: topic } },
      ],
    })
    const ours = await measure(crowd, (offset) =>
      publisher.broadcast({ kind: 'event', topic, ...sample(channelId, { n: offset }) }),
    )
    await crowd.close()

    const bare = await startBare()
    const bareCrowd = await openCrowd({ url: bare.url, count, hello: [] })
    const theirs = await measure(bareCrowd, (offset) =>
      bare.publish(
        `{"push":{"channel":"${topic}","pub":{"data":${JSON.stringify(sample(channelId, { n: offset }))}}}}`,
      ),
    )
    await bareCrowd.close()
    await bare.stop()
    print(`deliveries/s to ${count} sockets`, {
      parley: Math.round(ours.perSecond),
      'bare ws': Math.round(theirs.perSecond),
      ratio: (ours.perSecond / theirs.perSecond).toFixed(2),
    })
    // The receiving process may be the slower one: what a delivery costs this one is told apart from it.
    print(`deliveries a second of the sender's CPU`, {
      parley: Math.round(ours.perCpuSecond),
      'bare ws': Math.round(theirs.perCpuSecond),
      ratio: (ours.perCpuSecond / theirs.perCpuSecond).toFixed(2),
    })
  }

  await latency(node, { topic, token: user.wsToken })
  await node.stop()
})

/** A message with a mark that the receiving process reads. */
const sample = (channelId: string, mark: { n: number } | { at: number }) => {
  const message = { id: channelId, channelId, userId: 'ana', ...mark, text: 'x'.repeat(400) }
  return { type: 'message.new', payload: { channelId, message } } as unknown as Envelope // no whole message
}

type Crowd = Awaited<ReturnType<typeof openCrowd>>

/** Publishes bursts as fast as they are received, for a while; answers deliveries a second, and a second of this process's CPU. */
async function measure(crowd: Crowd, publish: (offset: number) => void) {
  let sent = 0
  const round = async () => {
    for (let each = 0; each < BURST; each++) publish(++sent)
    await crowd.received(sent)
  }
  for (let warm = 0; warm < 10; warm++) await round()
  const before = sent
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  while (performance.now() - startedAt < MILLISECONDS) await round()
  const seconds = (performance.now() - startedAt) / 1000
  const cpu = process.cpuUsage(cpuBefore)
  const deliveries = (sent - before) * crowd.count
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

/** What a socket adds to this process: heap and buffers, after collection. */
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
  const crowd = await openCrowd({
    url: node.wsUrl,
    count: IDLE_SOCKETS,
    hello: [
      { id: 1, connect: { token } },
      { id: 2, subscribe: { channel: topic } },
    ],
  })
  const after = measure()
  await crowd.close()
  return {
    'heap and buffers': ((after.heap - before.heap) / 1024 / IDLE_SOCKETS).toFixed(1),
    rss: ((after.rss - before.rss) / 1024 / IDLE_SOCKETS).toFixed(1),
  }
}

/** 1,000 durable events a second in 50 channels of 20 subscribers, handed to the hub as after a commit: until the last byte is read. */
async function latency(
  node: Awaited<ReturnType<typeof startNode>>,
  { topic: first, token }: { topic: string; token: string },
) {
  const names = [first, ...node.moreChannels.map((id) => topics.channel(node.app.id, id))]
  const crowds = await openCrowd({
    url: node.wsUrl,
    count: names.length * 20,
    hello: [{ id: 1, connect: { token } }],
    topics: names,
    stamped: true,
  })
  const offsets = new Map<string, number>(
    await Promise.all(names.map(async (name) => [name, await node.topOf(name)] as const)),
  )
  const total = 10_000
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
  const latencies = await crowds.latencies(total * 20)
  print('publish to deliver at 1,000/s × 20 (ms)', {
    deliveries: latencies.length,
    p50: percentile(latencies, 50),
    p99: percentile(latencies, 99),
  })
  await crowds.close()
}
