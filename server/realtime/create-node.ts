import { topics } from '@parley/contract'
import type { Admit } from '../core/admission.ts'
import type { LastActive } from '../core/last-active.ts'
import type { Metrics } from '../core/metrics.ts'
import type { Tokens } from '../core/signed-tokens.ts'
import type { UserRef } from '../core/user-ref.ts'
import type { Db } from '../db/client.ts'
import type { Broker } from './broker/index.ts'
import { coalesce } from './coalesce.ts'
import { CommandTurns } from './connection/command-turns.ts'
import type { Hub } from './hub.ts'
import type { RealtimeNode } from './node.ts'
import type { PresenceTracker } from './presence/index.ts'
import { selectGenerations } from './queries.ts'
import type { Session, Sessions } from './sessions.ts'
import type { Emulation } from './sockets/emulation.ts'
import { terminateLater } from './sockets/endpoint.ts'
import { SendMemory } from './sockets/send-memory.ts'
import type { Transport } from './sockets/transport.ts'
import { UserSockets } from './sockets/user-sockets.ts'
import { WriteBuffer } from './sockets/write-buffer.ts'
import type { SubscriberSurvey } from './subscriber-survey.ts'
import type { Timings } from './timings.ts'
import type { UnreadNotifier } from './unread/index.ts'

type NodeParts = {
  db: Db
  admit: Admit
  tokens: Tokens
  broker: Broker
  nodeId: string
  report: (error: unknown, problem: string) => void
  lastActive: LastActive
  socketsPerUser: number
  socketsPerApp?: number | undefined
  sendMemoryBytes: number
  metrics: Metrics
  sockets: () => Iterable<Transport>
  hub: Hub
  sessions: Sessions
  emulation: Emulation
  survey: SubscriberSurvey
  presence: PresenceTracker
  unread: UnreadNotifier
  timings: Timings
}

/** This node as its connections see it. */
export function createRealtimeNode(parts: NodeParts): RealtimeNode {
  const { db, admit, tokens, broker, nodeId, report, lastActive } = parts
  const { hub, sessions, emulation, presence, unread, timings } = parts
  const generation = coalesce<UserRef, number | undefined>(
    (users, appId) => {
      const until = db.newDeadline()
      return admit({ appId, queue: 'subscribes', until }, () =>
        db.use((db) => selectGenerations(db, users), until),
      )
    },
    { maxBatch: 1_000, groupOf: ({ appId }) => appId, pause: { eachMs: 20, mostMs: 500 } },
  )
  return {
    hub,
    emulation,
    admit: ({ appId, userId }, work) => admit({ appId, userId, until: db.newDeadline() }, work),
    tokens,
    timings,
    nodeId,
    report,
    generation,
    terminateLater,
    commandTurns: new CommandTurns(),
    writeBuffer: new WriteBuffer(),
    sendMemory: new SendMemory({
      mostBytes: parts.sendMemoryBytes,
      metrics: parts.metrics,
      sockets: parts.sockets,
    }),
    userSockets: new UserSockets({ user: parts.socketsPerUser, app: parts.socketsPerApp }),
    clientsOf: (topic) => parts.survey.clientsOf(topic),
    register: async (session) => {
      // Counts of the user arrive here wherever they are connected.
      if (!sessions.has(session)) broker.follow(topics.user(session.appId, session.userId))
      sessions.add(session)
      lastActive.touch(session)
      const current = await generation(session)
      // This look-up paces the connects of an app; those of other apps do not wait for it.
      if (current === session.generation && sessions.has(session))
        await presence.userConnected(userOf(session))
      return current
    },
    subscribed: (session, topic) => {
      if (topic === topics.user(session.appId, session.userId)) unread.clientLoads(session)
    },
    unregister: (session) => {
      if (!sessions.remove(session)) return
      broker.unfollow(topics.user(session.appId, session.userId))
      unread.forget(session)
      presence.userDisconnected(userOf(session))
    },
  }
}

/** For maps that outlive the session: they must not keep it and its socket in memory. */
const userOf = ({ appId, userId }: Session): UserRef => ({ appId, userId })
