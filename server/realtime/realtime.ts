import { parseTopic } from '@parley/contract'
import type { Activity } from '../activity.ts'
import type { Db } from '../db/client.ts'
import type { Outlet, Signal } from '../outlet.ts'
import type { Revocations } from '../revocations.ts'
import type { Tokens } from '../tokens.ts'
import { createAudience } from './audience.ts'
import { batched } from './batch.ts'
import type { Broker, Note } from './broker.ts'
import { applyChange, changeOf } from './changes.ts'
import { type Endpoint, terminateLater } from './endpoint.ts'
import { Hub } from './hub.ts'
import { createEventLog } from './log.ts'
import { Outbox } from './outbox.ts'
import { Presences } from './presence.ts'
import { closings } from './protocol/codes.ts'
import { selectConnected, selectGenerations, selectRecent } from './queries.ts'
import { Sessions, type User } from './sessions.ts'
import { timings as defaults, type Timings } from './timings.ts'
import { Typists } from './typing.ts'
import { UnreadLoop } from './unread.ts'

export type RealtimeOptions = {
  db: Db
  tokens: Tokens
  broker: Broker
  nodeId: string
  presenceGraceSeconds: number
  timings?: Partial<Timings> | undefined
  report: (error: unknown, problem: string) => void
  revocations: Revocations
  activity: Activity
}
export type Realtime = ReturnType<typeof createRealtime>

/** Real time on this node: takes in what operations say and what other nodes say, and tells those who are subscribed. */
export function createRealtime({ db, tokens, broker, nodeId, presenceGraceSeconds, report, revocations, activity, ...given }: RealtimeOptions) {
  const timings = { ...defaults, ...given.timings }
  const sessions = new Sessions()
  const hub = new Hub(createEventLog(db), report)
  const tell = (topic: string, envelope: string) => hub.broadcast(topic, envelope)
  const audience = createAudience({ db, nodeId, sessions, tell, report })
  const unread = new UnreadLoop({ db, nodeId, sessions, tell, report, pauseMs: timings.unreadPauseMs })
  const typists = new Typists((stop) => signal(stop), timings.typingMs)
  const presences = new Presences({
    db, nodeId, sessions, report, graceMs: presenceGraceSeconds * 1_000, deadAfterMs: timings.deadAfterMs,
    onChange: (presence) => {
      audience.presence(presence)
      broker.send(presence)
    },
  }) // biome-ignore format: a list
  const generation = batched<User, number | undefined>((users) => db.use((db) => selectGenerations(db, users)), { most: 1_000 })
  let isClosing = false

  /** What a note means for this node's users. */
  const receive = (note: Note, { isOwn }: { isOwn: boolean }) => {
    if (note.kind === 'hint') {
      hub.hear(note.topic, note.offset)
      if (note.change) applyChange({ ...note, change: note.change }, { unread, audience })
    } else if (note.kind === 'event') {
      if (!isOwn && !typists.admit(note, { isOwn })) return
      hub.broadcast(note.topic, note.envelope, note.onlyFor)
      noteTold(note)
    } else if (note.kind === 'profile') audience.profile(note)
    else if (note.kind === 'presence') audience.presence(note)
    else if (note.kind === 'revoked') {
      isEcho = true
      revocations.publish(note.revoked)
      isEcho = false
    } else recheck(note)
  }

  /** The unread loop must know what users are told by others. */
  const noteTold = ({ topic, envelope }: Extract<Signal, { kind: 'event' }>) => {
    if (!envelope.startsWith('{"type":"channel.unread_changed"')) return
    const user = parseTopic(topic)
    const { payload } = JSON.parse(envelope) as { payload: { channelId: string; count: number } } // written by createSignals
    if (user?.kind === 'user') unread.told(user, payload.channelId, payload.count)
  }

  const recheck = (user: User) => {
    const names = sessions.of(user).flatMap(({ topics }) => [...topics])
    hub.recheck(user.appId, user.userId, [...new Set(names)]).catch((error) => report(error, 'could not judge subscriptions anew'))
  }

  /** What another node has revoked is told to this node's listeners, and must not go back. */
  let isEcho = false
  const unsubscribe = revocations.subscribe((revoked) => {
    if ('userId' in revoked) for (const session of sessions.of(revoked)) session.close(closings.forced)
    if (!isEcho) broker.send({ kind: 'revoked', revoked })
  })

  const signal = (sent: Signal) => {
    if (sent.kind === 'event' && !typists.admit(sent, { isOwn: true })) return
    receive(sent, { isOwn: true })
    broker.send(sent)
  }
  const outlet: Outlet = {
    signal,
    publish: (events) => {
      hub.publish(events)
      for (const { topic, offset, envelope } of events) {
        const change = changeOf(envelope)
        if (change) applyChange({ topic, offset, change }, { unread, audience })
        broker.send({ kind: 'hint', topic, offset, ...(change ? { change } : {}) })
      }
    },
  }

  /** Whatever was missed, by this node or by the broker, is found here. */
  const reconcile = async () => {
    const users = sessions.users()
    const [generations, recent] = await Promise.all([selectSessionsGenerations(users), db.use(selectRecent), hub.reconcile(), presences.sweep()])
    unread.check(recent)
    users.forEach((user, index) => {
      for (const session of sessions.of(user)) if (session.generation !== generations[index]) session.close(closings.forced)
    })
  }
  const selectSessionsGenerations = (users: User[]) => (users.length === 0 ? [] : db.use((db) => selectGenerations(db, users)))

  const endpoint: Endpoint = {
    hub, tokens, timings, nodeId, report, generation, terminateLater,
    outbox: new Outbox(),
    connectedTo: (topic) => db.use((db) => selectConnected(db, topic)),
    arrived: async (session) => {
      sessions.add(session)
      activity.seen(session)
      const [known] = await Promise.all([generation(session), presences.arrive(session)])
      return known
    },
    left: (session) => {
      if (!sessions.remove(session)) return
      unread.forget(session)
      presences.depart(session)
    },
  } // biome-ignore format: a list

  const timers: NodeJS.Timeout[] = []
  const every = (milliseconds: number, { work, problem }: { work: () => Promise<unknown>; problem: string }) => {
    let isRunning = false
    timers.push(
      setInterval(() => {
        if (isRunning) return
        isRunning = true
        work()
          .catch((error) => report(error, problem))
          .finally(() => (isRunning = false))
      }, milliseconds),
    )
  }

  return {
    outlet,
    endpoint,
    isClosing: () => isClosing,
    start: async () => {
      await Promise.all([hub.start(), presences.beat()])
      await broker.start({
        onNote: (note) => receive(note, { isOwn: false }),
        onGap: () => void hub.reconcile().catch((error) => report(error, 'could not catch up')),
      })
      every(timings.reconcileMs, { work: reconcile, problem: 'could not compare with the database' })
      every(timings.beatMs, { work: () => presences.beat(), problem: 'could not say that this node lives' })
    },
    /** Sends the clients elsewhere, one after another, so that they do not all knock at the next door at once. */
    closeSessions: async () => {
      isClosing = true
      const leaving = sessions.all()
      const pauseMs = timings.shutdownMs / Math.max(1, leaving.length)
      const startedAt = Date.now()
      for (const [place, session] of leaving.entries()) {
        const early = startedAt + place * pauseMs - Date.now()
        if (early > 5) await new Promise((resolve) => setTimeout(resolve, early))
        session.close(closings.shutdown)
      }
    },
    stop: async () => {
      for (const timer of timers) clearInterval(timer)
      unsubscribe()
      typists.stop()
      unread.stop()
      await presences.stop().catch((error) => report(error, 'could not say that this node stops'))
      await broker.stop()
    },
  }
}
