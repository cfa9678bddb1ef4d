import type { Seeded } from '../connect/seed.ts'
import { pause } from '../server.ts'
import type { startClients } from './clients.ts'
import type { Nodes, Work } from './nodes.ts'
import { startTraffic } from './traffic.ts'

export type Measured = {
  socketKiB: number
  /** The cores that all processes use while nothing happens. */
  idleCores: number
  /** A second. */
  sends: number
  deliveries: number
  /** CPU time for each delivered event; `idle` is the part that idle processes cost. */
  micros: { nodes: number; database: number; redis: number; idle: number }
  /** For each message, beyond those of the same time without messages. */
  statements: number
}
type Options = {
  nodes: Nodes
  clients: ReturnType<typeof startClients>
  seeded: Seeded
  perSecond: number
  seconds: number
}

const LONGEST_SETTLE_SECONDS = 2
const POLL_MS = 50
/** How long nothing may arrive before missing events count as lost. */
const PATIENCE_MS = 30_000
const LONGEST_STORM_MS = 600_000
/**
 * The warm-up of each node; its time is a share of the measured time. V8 compiles code that is
 * used often, in each process, and each of several nodes is used less.
 */
const WARM_UP = { sockets: 200, seconds: 0.4 }

/** The phases of measurement with running nodes, one after the other. */
export function createPhases({ nodes, clients, seeded, perSecond, seconds }: Options) {
  const { senders, clients: all } = seeded
  const settleMs = Math.min(seconds, LONGEST_SETTLE_SECONDS) * 1_000
  const traffic = () => startTraffic({ urls: nodes.urls(), senders, perSecond })

  const openAll = async () => {
    await clients.open(nodes.socketUrls(), all)
    await pause(settleMs)
  }

  /** Waits for the events of all acknowledged messages. Returns how many did not arrive. */
  const lostOf = async (expected: number) => {
    let best = 0
    let progressAt = performance.now()
    while (performance.now() - progressAt < PATIENCE_MS) {
      const { events, reloaded, open } = await clients.seen()
      if (events + reloaded >= expected && open === all.length) break
      if (events + open > best) progressAt = performance.now()
      best = Math.max(best, events + open)
      await pause(POLL_MS)
    }
    const { events, reloaded, gaps, twice } = await clients.seen()
    if (gaps > 0 || twice > 0) throw new Error(`events were left out (${gaps}) or twice (${twice})`)
    return expected - events - reloaded
  }

  /** Sends for a while. Fails if an event does not arrive. */
  const roll = async (duration: number, expectedBefore: number) => {
    const startedAt = performance.now()
    const sending = traffic()
    await pause(duration * 1_000)
    const sent = await sending.stop()
    const took = (performance.now() - startedAt) / 1_000
    requireAll(await lostOf(expectedBefore + sent.deliveries))
    return { ...sent, took }
  }

  const measure = async (): Promise<Measured> => {
    const count = nodes.urls().length
    await clients.open(nodes.socketUrls(), all.slice(0, WARM_UP.sockets * count))
    await clients.open(nodes.socketUrls(), [])
    await pause(settleMs)
    const empty = await nodes.work()
    await openAll()
    const opened = await nodes.work()
    await pause(seconds * 1_000)
    const idled = await nodes.work()
    const warm = await roll(seconds * WARM_UP.seconds * count, 0)
    const before = await nodes.work()
    const { messages, deliveries, took } = await roll(seconds, warm.deliveries)
    const after = await nodes.work()
    const micros = (kind: keyof Work) => (1e6 * (after[kind] - before[kind])) / deliveries
    const idleCores = (coresOf(idled) - coresOf(opened)) / seconds
    const idleStatements = ((idled.statements - opened.statements) * took) / seconds
    return {
      socketKiB: (idled.rss - empty.rss) / 1024 / all.length,
      idleCores,
      sends: messages / took,
      deliveries: deliveries / took,
      micros: {
        nodes: micros('nodes'),
        database: micros('database'),
        redis: micros('redis'),
        idle: (1e6 * idleCores * took) / deliveries,
      },
      statements: (after.statements - before.statements - idleStatements) / messages,
    }
  }

  /** Kills the last of the nodes. Returns the seconds until all of its sockets are back. */
  const killLast = async (count: number) => {
    const last = all.filter((_, index) => index % count === count - 1).length
    const startedAt = performance.now()
    nodes.killLast()
    for (;;) {
      const seen = await clients.seen()
      const { cuts, open } = seen
      const took = performance.now() - startedAt
      if (cuts >= last && open === all.length) return { cut: last, back: took / 1_000 }
      if (took > LONGEST_STORM_MS) throw new Error(`not all are back: ${JSON.stringify(seen)}`)
      await pause(POLL_MS)
    }
  }

  /**
   * Kills a node twice: while messages are sent, none of which may be lost, and while nothing else
   * happens, to count the statements of those who come back.
   */
  const storms = async (count: number) => {
    await openAll()
    const sending = traffic()
    await pause(settleMs)
    const busy = await killLast(count)
    const sent = await sending.stop()
    const lost = await lostOf(sent.deliveries)
    requireAll(lost)
    const { reloaded, refused, unanswered } = await clients.seen()

    await nodes.replaceLast()
    await openAll()
    const before = await nodes.statements()
    const quiet = await killLast(count)
    const statements = (await nodes.statements()) - before
    return {
      cut: quiet.cut,
      'back s': quiet.back.toFixed(1),
      'statements a socket': (statements / quiet.cut).toFixed(3),
      'back s, busy': busy.back.toFixed(1),
      'lost, busy': lost,
      'to reload, busy': reloaded,
      'refused, busy': refused + unanswered,
      'sent again': sent.repeated,
    }
  }
  return { measure, storms }
}

const coresOf = ({ nodes, database, redis }: Work) => nodes + database + redis

function requireAll(lost: number) {
  if (lost !== 0) throw new Error(`${lost} events were lost`)
}
