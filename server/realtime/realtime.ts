import type { Envelope } from '@parley/contract'
import type { LastActive } from '../core/last-active.ts'
import type { Metrics } from '../core/metrics.ts'
import type { Revocations } from '../core/revocations.ts'
import type { Tokens } from '../core/tokens.ts'
import type { Db } from '../db/client.ts'
import type { Broker } from './broker.ts'
import { coalesce } from './coalesce.ts'
import { createDispatcher } from './dispatcher.ts'
import { terminateLater } from './endpoint.ts'
import { createEventLog } from './event-log.ts'
import { Hub } from './hub.ts'
import type { RealtimeNode } from './node.ts'
import { PresenceTracker } from './presence.ts'
import { selectConnected, selectGenerations } from './queries.ts'
import { createReconciliation } from './reconcile.ts'
import { Sessions, type User } from './sessions.ts'
import { timings as defaults, type Timings } from './timings.ts'
import { UnreadNotifier } from './unread.ts'
import { createUserFanout } from './user-fanout.ts'
import { WriteBuffer } from './write-buffer.ts'

export type RealtimeOptions = {
  db: Db
  tokens: Tokens
  broker: Broker
  nodeId: string
  presenceGraceSeconds: number
  timings?: Partial<Timings> | undefined
  metrics: Metrics
  report: (error: unknown, problem: string) => void
  revocations: Revocations
  lastActive: LastActive
}
export type Realtime = ReturnType<typeof createRealtime>

/** Real time on this node: takes in what operations say and what other nodes say, and tells those who are subscribed. */
export function createRealtime({
  presenceGraceSeconds,
  timings: given,
  ...options
}: RealtimeOptions) {
  const { db, broker, nodeId, metrics, report, revocations } = options
  const timings = { ...defaults, ...given }
  const sessions = new Sessions()
  const onOwn = (user: User, event: Envelope) => {
    if (event.type === 'channel.added') unread.shown(user, event.payload.channel)
    if (event.type === 'channel.removed') unread.left(user)
  }
  const hub = new Hub(createEventLog(db), { metrics, report, onOwn })
  const tell = (topics: string[], event: Envelope) => hub.broadcast(topics, event)
  const audience = createUserFanout({ db, nodeId, sessions, tell, report })
  const unread = new UnreadNotifier({
    db,
    nodeId,
    sessions,
    tell,
    report,
    pauseMs: timings.unreadPauseMs,
  })
  const presences = new PresenceTracker({
    db, nodeId, sessions, report, graceMs: presenceGraceSeconds * 1_000, deadAfterMs: timings.deadAfterMs,
    onChange: (presence) => {
      audience.presence(presence)
      broker.send(presence)
    },
  }) // biome-ignore format: a list
  const intake = createDispatcher({
    hub,
    audience,
    unread,
    sessions,
    broker,
    revocations,
    metrics,
    typingMs: timings.typingMs,
    report,
  })
  const reconcile = createReconciliation({
    db,
    hub,
    sessions,
    presences,
    unread,
    recheck: intake.recheck,
  })
  const clock = createClock(report)
  let isClosing = false

  return {
    publisher: intake.publisher,
    node: createNode({ ...options, hub, sessions, presences, unread, timings }),
    isClosing: () => isClosing,
    start: async () => {
      await Promise.all([hub.start(), presences.beat()])
      const onGap = () =>
        void reconcile().catch((error) => isClosing || report(error, 'could not catch up'))
      await broker.start({ onNote: (note) => intake.receive(note, { isOwn: false }), onGap })
      clock.every(timings.reconcileMs, {
        work: reconcile,
        problem: 'could not compare with the database',
      })
      clock.every(timings.beatMs, {
        work: () => presences.beat(),
        problem: 'could not say that this node lives',
      })
    },
    closeSessions: () => {
      isClosing = true
      return sessions.sendAway(timings.shutdownMs)
    },
    stop: async () => {
      clock.stop()
      intake.stop()
      unread.stop()
      await presences.stop().catch((error) => report(error, 'could not say that this node stops'))
      await broker.stop()
    },
  }
}

type Parts = Pick<RealtimeOptions, 'db' | 'tokens' | 'nodeId' | 'report' | 'lastActive'> & {
  hub: Hub
  sessions: Sessions
  presences: PresenceTracker
  unread: UnreadNotifier
  timings: Timings
}

/** What this node is to its connections. */
function createNode({
  db,
  tokens,
  nodeId,
  report,
  lastActive,
  hub,
  sessions,
  presences,
  unread,
  timings,
}: Parts): RealtimeNode {
  const generation = coalesce<User, number | undefined>(
    (users) => db.use((db) => selectGenerations(db, users)),
    { most: 1_000 },
  )
  return {
    hub, tokens, timings, nodeId, report, generation, terminateLater,
    writeBuffer: new WriteBuffer(),
    connectedTo: (topic) => db.use((db) => selectConnected(db, topic)),
    arrived: async (session) => {
      sessions.add(session)
      lastActive.touch(session)
      const [known] = await Promise.all([generation(session), presences.arrive(session)])
      return known
    },
    left: (session) => {
      if (!sessions.remove(session)) return
      unread.forget(session)
      presences.depart(session)
    },
  } // biome-ignore format: a list
}

/** Work that is done again and again, never twice at once. */
function createClock(report: RealtimeOptions['report']) {
  const timers: NodeJS.Timeout[] = []
  const every = (
    milliseconds: number,
    { work, problem }: { work: () => Promise<unknown>; problem: string },
  ) => {
    let isRunning = false
    const run = () => {
      if (isRunning) return
      isRunning = true
      work()
        .catch((error) => report(error, problem))
        .finally(() => (isRunning = false))
    }
    timers.push(setInterval(run, milliseconds))
  }
  return { every, stop: () => timers.forEach(clearInterval) }
}
