import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { createTalk } from '../support/large-answers.ts'
import { sample } from '../support/scrape.ts'
import { emulate, RawStream } from '../support/stream.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'
import { useSocketUsers } from './sockets.ts'

/** A fourth of what one socket alone may leave unread. Bare sockets answer no pings. */
const world = useWorld({ sendMemoryBytes: 256 * 1024, timings: { pingMs: 1_000_000 } })
const { ana, ben, connected, channelTopic } = useSocketUsers(world)
const LONG_TEXT = '€'.repeat(10_000) // 30 kB

const shown = () => world().metrics.registry.metrics()
const cuts = async () => sample(await shown(), 'parley_sockets_cut_total')
const slowClients = async () =>
  sample(await shown(), 'parley_slow_consumers_total{reason="memory"}')

test('a socket that does not read is cut when the memory is used up, others go on', async () => {
  const before = [await cuts(), await slowClients()] as const
  const { id: channelId } = await ana().channels.create({ type: 'public', name: 'Talk' })
  const { clients } = world().app.websocketServer
  const reader = await connected(ben())
  const others = new Set(clients)
  const slow = await connected(ana())
  const [socket] = [...clients].filter((client) => !others.has(client))
  for (const raw of [slow, reader])
    await raw.ask({ id: 2, subscribe: { channel: channelTopic(channelId) } })
  slow.socket.pause()
  let sent = 0
  // How much the operating system buffers for a socket depends on the machine.
  while (socket?.readyState === WebSocket.OPEN) {
    await Promise.all(
      Array.from({ length: 10 }, () => ana().messages.send({ channelId, text: LONG_TEXT })),
    )
    sent += 10
  }
  const seqs = () =>
    reader.messages.flatMap(({ push }) => push?.pub?.data.payload.message?.seq ?? [])
  await until(async () => seqs().length === sent)
  expect(seqs()).toEqual(Array.from({ length: sent }, (_, index) => index + 1))
  slow.socket.resume()
  // Cut, not closed: a close frame would wait behind what is unread.
  expect((await slow.closed).code).toBe(1006)
  expect([await cuts(), await slowClients()]).toEqual(before.map((count) => count + 1))
  await until(async () => /^parley_send_memory_bytes 0$/m.test(await shown()))
})

test('a stream that is not read is cut like a socket', async () => {
  const { id: channelId } = await ana().channels.create({ type: 'public', name: 'Streamed' })
  const slow = await RawStream.connect(world(), ana())
  onTestFinished(() => slow.terminate())
  await slow.ask({ id: 2, subscribe: { channel: channelTopic(channelId) } })
  await slow.pause()
  const before = await cuts()
  const sendSome = () =>
    Promise.all(
      Array.from({ length: 10 }, () => ana().messages.send({ channelId, text: LONG_TEXT })),
    )
  // How much the operating system buffers for a stream depends on the machine.
  while ((await cuts()) === before) await sendSome()
  const { session } = slow
  await until(async () => (await emulate(world(), { ...session, data: '{}' })) === 404)
  await until(async () => /^parley_send_memory_bytes 0$/m.test(await shown()))
})

test('answers that a client does not read are cut when the memory is used up', async () => {
  const { channelId } = await createTalk(world(), ana(), 30)
  const { hostname, port } = new URL(world().url)
  const slow = connect(Number(port), hostname).pause()
  onTestFinished(() => void slow.destroy())
  const closed = new Promise((resolve) => slow.once('close', resolve))
  slow.on('error', () => {})
  const head = `GET /api/channels/${channelId}/messages HTTP/1.1\r\nHost: parley\r\n`
  const isCut = async () => {
    slow.write(`${head}Authorization: Bearer ${ana().token}\r\n\r\n`)
    return /^parley_answers_cut_total [1-9]/m.test(await world().metrics.registry.metrics())
  }
  // How much the operating system buffers for a connection depends on the machine.
  await until(isCut)
  slow.resume()
  await closed
})
