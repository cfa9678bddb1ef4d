import type { Envelope } from '@parley/contract'
import type { Admit } from '../core/admission.ts'
import type { LastActive } from '../core/last-active.ts'
import type { Metrics } from '../core/metrics.ts'
import type { Revocations } from '../core/revocations.ts'
import type { Tokens } from '../core/signed-tokens.ts'
import type { UserRef } from '../core/user-ref.ts'
import { type Db, DeadlineError } from '../db/client.ts'
import type { Broker } from './broker/index.ts'
import { coalesce } from './coalesce.ts'
import { createRealtimeNode } from './create-node.ts'
import { createDispatcher } from './dispatcher.ts'
import { createEventLog } from './event-log.ts'
import { createUserFanout } from './fanout/index.ts'
import { MissedCopies } from './fanout/missed-copies.ts'
import { MissedProfiles } from './fanout/missed-profiles.ts'
import { Hub } from './hub.ts'
import { createOutageWatch } from './outage-watch.ts'
import { PresenceTracker } from './presence/index.ts'
import { KnownPresence } from './presence/known.ts'
import { countOtherNodes } from './queries.ts'
import { createReconciliation } from './reconcile.ts'
import { createSchedule, oneAtATime } from './schedule.ts'
import { closeForOutage, Sessions } from './sessions.ts'
import { Emulation } from './sockets/emulation.ts'
import { terminateLater } from './sockets/endpoint.ts'
import type { Transport } from './sockets/transport.ts'
import { SubscriberSurvey } from './subscriber-survey.ts'
import { timings as defaults, type Timings } from './timings.ts'
import { UnreadNotifier } from './unread/index.ts'

type RealtimeOptions = {
  db: Db
  admit: Admit
  tokens: Tokens
  broker: Broker
  nodeId: string
  presenceGraceSeconds: number
  /** The most sockets of a user on this node; 0 means no limit. */
  socketsPerUser: number
  /** The most sockets of an app on this node; without it there is no limit. */
  socketsPerApp?: number | undefined
  timings?: Partial<Timings> | undefined
  metrics: Metrics
  report: (error: unknown, problem: string) => void
  revocations: Revocations
  lastActive: LastActive
  /** The memory for events that topics keep, and for frames that are not written yet. */
  eventMemoryBytes: number
  sendMemoryBytes: number
  /** All open WebSockets, those without a session included. */
  sockets: () => Iterable<Transport>
}

/** Settings of the operator, or of a test. */
export type RealtimeSettings = Pick<
  RealtimeOptions,
  | 'presenceGraceSeconds'
  | 'socketsPerUser'
  | 'socketsPerApp'
  | 'eventMemoryBytes'
  | 'sendMemoryBytes'
  | 'timings'
>

/**
 * Real time on this node: delivers what operations and other nodes publish to the subscribers that
 * are connected here.
 */
export function createRealtime({ presenceGraceSeconds, ...options }: RealtimeOptions) {
  const { broker, report } = options
  const timings = { ...defaults, ...options.timings }
  const graceMs = presenceGraceSeconds * 1_000
  const parts = createParts({ ...options, timings, graceMs })
  const { hub, unread, presence, knownPresence, sessions, emulation, dispatcher } = parts
  const { userFanout } = parts
  const { reconcile, beat, watchOthers, look, missedNotes } = parts.reconciliation
  const schedule = createSchedule(report)
  const catchUp = oneAtATime(reconcile)
  let isClosing = false
  const sockets = () => [...options.sockets(), ...emulation.sockets]
  const isOutage = () => outageWatch.isOutage()
  const outageWatch = createOutageWatch({
    outageMs: timings.outageMs,
    probe: options.db.ping,
    // Another node may still reach the database: clients reconnect there.
    onOutage: () => {
      report(new DeadlineError(), 'database out of reach: closing all sockets')
      void closeForOutage(sessions, { sockets, isOutage, milliseconds: timings.shutdownMs })
    },
  })
  const { observe } = outageWatch

  return {
    publisher: dispatcher.publisher,
    node: createRealtimeNode({ ...options, ...parts, sockets, timings }),
    isClosing: () => isClosing,
    isOutage,
    start: async () => {
      await Promise.all([hub.start(), presence.beat(), knownPresence.start()])
      const onMissedNotes = (milliseconds: number, nodeId?: string) => {
        missedNotes(milliseconds / 1_000, nodeId)
        catchUp().catch((error) => {
          if (!isClosing) report(error, 'reconciliation after missed notes failed')
        })
      }
      await broker.start({ onNote: dispatcher.receive, onMissedNotes })
      outageWatch.start()
      schedule.every(timings.reconcileMs, {
        work: () => observe(reconcile),
        problem: 'reconciliation failed',
      })
      schedule.every(timings.beatMs, {
        work: async () => {
          await observe(beat)
          // The next heartbeat does not wait for it.
          watchOthers().catch((error) => report(error, 'dead-node check failed'))
        },
        problem: 'node heartbeat write failed',
      })
      schedule.every(timings.lookMs, { work: look, problem: 'dead-node check failed' })
    },
    sendAway: (milliseconds: number) => sessions.drainLate(milliseconds),
    closeSessions: async () => {
      isClosing = true
      await sessions.drain(timings.shutdownMs)
      emulation.close()
    },
    stop: async () => {
      schedule.stop()
      outageWatch.stop()
      dispatcher.stop()
      await unread.stop()
      await presence.stop().catch((error) => report(error, 'last heartbeat write failed'))
      await userFanout.stop()
      await broker.stop()
    },
  }
}

type PartsOptions = Omit<RealtimeOptions, 'timings' | 'presenceGraceSeconds'> & {
  timings: Timings
  graceMs: number
}

/** Creates the parts of real time and connects them. */
function createParts({ timings, graceMs, ...options }: PartsOptions) {
  const { db, admit, broker, nodeId, metrics, report, revocations } = options
  const { typingMs, deadAfterMs, beatPatienceMs } = timings
  const sessions = new Sessions()
  const onChannelsChanged = (user: UserRef, event: Envelope) => {
    if (event.type === 'channel.added') unread.channelAdded(user, event.payload.channel)
    if (event.type === 'channel.removed') unread.memberLeft(user)
  }
  // Events that say which channels the user gained or lost were missed: load all counts again.
  const onReset = (user: UserRef) => unread.memberLeft(user)
  const eventLog = createEventLog({ db, admit, interest: broker, metrics })
  const hub = new Hub(eventLog, { ...options, interest: broker, onChannelsChanged, onReset })
  const broadcast = (topics: string[], event: Envelope) => hub.broadcast(topics, event)
  const local = { db, nodeId, sessions, broadcast, report }
  const hasReceivers = () => !sessions.isEmpty || broker.hasPeers()
  const userFanout = createUserFanout({
    ...local,
    coMembersPauseMs: timings.coMembersPauseMs,
    hasReceivers,
    send: broker.send,
    onPresenceLost: (change) => knownPresence.handleLost(change),
    onProfileLost: (change) => missedProfiles.handleLost(change),
    onCopyLost: (event) => missedCopies.handleLost(event),
  })
  const unread = new UnreadNotifier({
    ...local,
    interest: broker,
    pauseMs: timings.unreadPauseMs,
    hasReceivers,
    send: broker.send,
  })
  const knownPresence = new KnownPresence({ db, nodeId, notify: userFanout.presenceChanged })
  const missedProfiles = new MissedProfiles({
    ...local,
    metrics,
    notify: userFanout.profileChanged,
  })
  const emulation = new Emulation({ nodeId, tokens: options.tokens, broker, terminateLater })
  // Counted for all surveys together: each topic has a survey, which waits for no user's turn.
  const countOthers = coalesce<void, number>(
    async (surveys) => {
      const others = await db.use((db) => countOtherNodes(db, nodeId))
      return surveys.map(() => others)
    },
    { maxBatch: 1_000 },
  )
  const survey = new SubscriberSurvey({ nodeId, hub, broker, countOthers })
  const presence = new PresenceTracker({
    db,
    nodeId,
    sessions,
    report,
    graceMs,
    deadAfterMs,
    beatPatienceMs,
    onChange: (change) => dispatcher.presenceChanged(change),
  })
  const parts = {
    hub,
    unread,
    presence,
    knownPresence,
    missedProfiles,
    sessions,
    emulation,
    survey,
  }
  const dispatcher = createDispatcher({
    ...parts,
    userFanout,
    broker,
    revocations,
    metrics,
    typingMs,
    report,
  })
  const { recheck, recheckFailed } = dispatcher
  const missedCopies = new MissedCopies({ ...local, metrics, copy: userFanout.copyMissed })
  const missed = { ...parts, missedCopies }
  const rechecks = { recheck, recheckFailed }
  const reconciliation = createReconciliation({ ...missed, ...rechecks, db, report, timings })
  return { ...parts, userFanout, dispatcher, reconciliation }
}
