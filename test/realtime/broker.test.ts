import { topics } from '@parley/contract'
import { connectOnce } from '@parley/server/db/client'
import type { NodeNote } from '@parley/server/realtime/broker/index'
import { createPostgresBroker } from '@parley/server/realtime/broker/postgres-broker'
import type { Timings } from '@parley/server/realtime/timings'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { upTo } from '../support/events.ts'
import { openProxy } from '../support/proxy.ts'
import { hasRedis, redisAt } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'
import { brokerKinds, useBrokers } from './brokers.ts'

// This node is not silent for those that listen for silence.
const world = useWorld({ timings: { brokerBeatMs: 50 } })
const brokers = useBrokers(world)
/** A topic without subscriptions, so that the nodes of the world do nothing about these notes. */
const topic = topics.user('019c9b1e-7a52-7cc1-8f0e-0a0000000009', 'nobody')
let nodes = 0
const hint = (offset: number): NodeNote => ({ kind: 'hint', topic, offset })
const UNREADABLE = -100
/** A hint as long as one wants. */
const padded = (offset: number, padding: string): NodeNote =>
  Object.assign(hint(offset), { padding })
type OpenOptions = { url?: string; timings?: Partial<Timings> }
describe.each(brokerKinds)('the broker over %s:', (kind) => {
  const { url: defaultUrl, through, nowhere, create } = brokers[kind]
  const check = test.skipIf(kind !== 'PostgreSQL' && !hasRedis)

  /** A node's broker, which follows the topic, and the offsets of the hints that it receives. */
  async function openBroker({ url = defaultUrl(), timings = {} }: OpenOptions = {}) {
    const problems: string[] = []
    const missed: number[] = []
    const offsets: number[] = []
    const paddings: unknown[] = []
    const nodeId = `broker-${++nodes}`
    const options = { url, timings, nodeId }
    const report = (_: unknown, problem: string) => void problems.push(problem)
    const broker = await create({ ...options, report })
    const beats = vi.spyOn(broker.listener, 'sent')
    await broker.start({
      onNote: (note) => {
        if (note.kind !== 'hint' || !note.topic.startsWith(topic)) return
        if (note.offset === UNREADABLE) throw new Error('not understood')
        offsets.push(note.offset)
        if ('padding' in note) paddings.push(note.padding)
      },
      onMissedNotes: (milliseconds) => void missed.push(milliseconds),
    })
    const end = { isOver: false }
    const stop = async () => {
      if (end.isOver) return
      end.isOver = true
      await broker.stop()
    }
    onTestFinished(stop)
    // A start waits only for a while.
    await until(broker.isUp)
    broker.follow(topic)
    await broker.settled()
    /** Resolves at the next beat. A node that still has notes to send does not beat. */
    const nextBeat = () => {
      const before = beats.mock.calls.length
      return until(() => beats.mock.calls.length > before)
    }
    return { ...broker, nodeId, stop, nextBeat, problems, offsets, paddings, missed }
  }

  check('notes reach every other node once and in order, however many there are', async () => {
    const [sender, receiver] = [await openBroker(), await openBroker()]
    for (const offset of upTo(300)) sender.send(hint(offset))
    await until(() => receiver.offsets.length >= 150)
    // Sent while others are on their way.
    sender.send(hint(301))
    receiver.send(hint(302))
    await until(() => receiver.offsets.length >= 301 && sender.offsets.length >= 1)
    expect(receiver.offsets).toEqual(upTo(301))
    expect(sender.offsets).toEqual([302])
  })

  check('a note of any size arrives whole, in its order, and each of two equal ones', async () => {
    const [sender, receiver] = [await openBroker(), await openBroker()]
    const [long, few] = ['€😀'.repeat(8_000), '€'.repeat(2_700)]
    sender.send(hint(1))
    for (const padding of [long, long]) sender.send(padded(2, padding))
    // Fewer characters than a payload has bytes.
    sender.send(padded(3, few))
    await until(() => receiver.offsets.length === 4)
    expect(receiver.offsets).toEqual([1, 2, 2, 3])
    expect(receiver.paddings).toEqual([long, long, few])
    expect(sender.problems).toEqual([])
  })

  check('a note that is not understood is reported, and those after it arrive', async () => {
    const [sender, receiver] = [await openBroker(), await openBroker()]
    for (const offset of [UNREADABLE, 1]) sender.send(hint(offset))
    await until(() => receiver.offsets.length === 1)
    expect(receiver.problems).toEqual(['note from another node could not be parsed'])
  })

  check('notes that a node sent before it stopped arrive', async () => {
    const [sender, receiver] = [await openBroker(), await openBroker()]
    sender.send(hint(1))
    await sender.stop()
    await until(() => receiver.offsets.length === 1)
  })

  check('a node learns of notes that another one could not send, and of its silence', async () => {
    const proxy = await openProxy(defaultUrl())
    onTestFinished(proxy.close)
    const sender = await openBroker({ url: through(proxy), timings: { brokerBeatMs: 50 } })
    const patient = await openBroker()
    const watchful = await openBroker({ timings: { brokerBeatMs: 50, silentNodeMs: 500 } })
    sender.send(hint(1))
    await until(() => patient.offsets.length === 1 && watchful.offsets.length === 1)
    const before = patient.missed.length
    proxy.redirect(nowhere)
    proxy.cut()
    sender.send(hint(2))
    // A beat that was on its way has failed as well: only the next one shows that the note has.
    await sender.nextBeat()
    expect(sender.problems).toContain('lost')
    proxy.redirect(defaultUrl())
    await until(() => patient.missed.length > before)
    sender.send(hint(3))
    await until(() => patient.offsets.length > 1 && watchful.offsets.length > 1)
    watchful.missed.splice(0)
    proxy.redirect(nowhere)
    proxy.cut()
    await until(() => watchful.missed.some((milliseconds) => milliseconds > 500))
    expect(patient.offsets).toEqual([1, 3])
  })

  check('a node learns of notes that another one dropped since too many waited', async () => {
    const [sender, receiver] = [await openBroker(), await openBroker()]
    // It counts the notes of a node from the first that it has received.
    sender.send(hint(1))
    await until(() => receiver.offsets.length === 1)
    const before = receiver.missed.length
    sender.send(hint(2))
    sender.send(padded(3, 'x'.repeat(8 * 1024 * 1024)))
    sender.send(hint(4))
    await until(() => receiver.offsets.includes(4))
    expect(sender.problems).toContain('lost')
    await until(() => receiver.missed.length > before)
    expect(receiver.offsets).toEqual([1, 2, 4])
  })

  check('every note about a followed topic arrives, whatever came before', async () => {
    const [sender, receiver] = [await openBroker(), await openBroker()]
    const names = upTo(40).map((index) => `${topic}${index}`)
    let sent = 0
    const expected: number[] = []
    // Others flood all topics meanwhile, and each topic comes and goes.
    for (const name of names) {
      receiver.follow(name)
      receiver.unfollow(name)
      receiver.follow(name)
      sender.send({ kind: 'hint', topic: name, offset: -1 })
      await receiver.settled()
      expected.push(++sent)
      sender.send({ kind: 'hint', topic: name, offset: sent })
    }
    await until(() => receiver.offsets.includes(sent))
    expect(receiver.offsets.filter((offset) => offset > 0)).toEqual(expected)
  })

  check('a topic that two follow arrives until both have left it', async () => {
    const [sender, receiver] = [await openBroker(), await openBroker()]
    receiver.follow(topic)
    receiver.unfollow(topic)
    await receiver.settled()
    sender.send(hint(1))
    await until(() => receiver.offsets.length === 1)
  })

  check('notes for users beyond a topic reach nodes that do not follow it', async () => {
    const [sender, receiver] = [await openBroker(), await openBroker()]
    receiver.unfollow(topic)
    await receiver.settled()
    sender.send({ kind: 'hint', topic, offset: 1, change: { type: 'message.new' } })
    await until(() => receiver.offsets.length === 1)
  })

  check('a node whose connections were cut says what it may have missed, and goes on', async () => {
    const proxy = await openProxy(defaultUrl())
    onTestFinished(proxy.close)
    const sender = await openBroker()
    const receiver = await openBroker({ url: through(proxy), timings: { brokerBeatMs: 50 } })
    const before = receiver.missed.length
    proxy.cut()
    await until(() => receiver.missed.length > before)
    sender.send(hint(1))
    await until(() => receiver.offsets.includes(1))
  })

  check('a node whose connection fell silent replaces it', async () => {
    const proxy = await openProxy(defaultUrl())
    onTestFinished(proxy.close)
    const sender = await openBroker()
    const timings = { brokerBeatMs: 50, brokerSilenceMs: 400 }
    const receiver = await openBroker({ url: through(proxy), timings })
    const before = receiver.missed.length
    proxy.silence()
    // It takes at least this long to notice.
    await until(() => receiver.missed.slice(before).some((milliseconds) => milliseconds > 300))
    // On a busy machine the new connection may be silent for long as well.
    await until(() => {
      sender.send(hint(1))
      return receiver.offsets.includes(1)
    })
    // The connection for sending fell silent as well. A pool replaces that of PostgreSQL.
    if (kind === 'PostgreSQL') return
    await until(() => {
      receiver.send(hint(2))
      return sender.offsets.includes(2)
    })
  })
})

test('a node numbers what it sends, and says last of all that it stops', async () => {
  const sql = connectOnce(world().databaseUrl)
  onTestFinished(() => sql.end())
  const url = world().databaseUrl
  const sender = createPostgresBroker({ url, nodeId: 'last', report: () => {} })
  const payloads: string[] = []
  await sql.listen('parley', (payload) => {
    if (payload.startsWith('last\n')) payloads.push(payload)
  })
  sender.send(hint(1))
  await sender.stop()
  await until(() => payloads.some((payload) => payload.endsWith('\n"farewell"')))
  expect(payloads.at(-1)).toMatch(/\n"farewell"$/)
  expect(payloads.map((payload) => payload.split('\n')[1])).toEqual(['1', '2'])
})

test.skipIf(!hasRedis)('a Redis with TLS is refused by another name or password', async () => {
  const { url } = brokers['Redis with TLS and a password']
  const problemAt = async (changed: string) => {
    const { connect } = await redisAt(changed)
    const connection = connect({ name: 'refused', commandMs: 5_000 })
    onTestFinished(() => connection.close())
    await until(() => connection.problem() !== 'not connected yet' || connection.isReady())
    return connection.isReady() ? 'connected' : connection.problem()
  }
  expect(await problemAt(url())).toBe('connected')
  expect(await problemAt(url().replace('localhost', '127.0.0.1'))).toMatch(/altnames/)
  expect(await problemAt(url().replace('@localhost', 'x@localhost'))).toMatch(/WRONGPASS/)
})
