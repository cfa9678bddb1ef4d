import type { EventPublisher } from '../core/event-bus.ts'
import type { Metrics } from '../core/metrics.ts'
import type { Db } from '../db/client.ts'
import type { Broker } from './broker.ts'
import { applyEvent, hintOf } from './hints.ts'
import { Sessions } from './sessions.ts'
import { timings } from './timings.ts'
import { UnreadNotifier } from './unread.ts'
import { createUserFanout } from './user-fanout.ts'

type WorkerPublisherOptions = {
  db: Db
  nodeId: string
  broker: Broker
  metrics: Pick<Metrics, 'events'>
  report: (error: unknown, problem: string) => void
}

/** A worker has no sockets: it sends its events to the nodes that have, and tells their users. */
export function createWorkerPublisher({ metrics, ...options }: WorkerPublisherOptions) {
  const { broker, report } = options
  const local = {
    ...options,
    sessions: new Sessions(),
    broadcast: () => {},
    isHeard: () => true,
    send: broker.send,
  }
  const unread = new UnreadNotifier({
    ...local,
    pauseMs: timings.unreadPauseMs,
    countedMs: timings.countedMs,
  })
  const userFanout = createUserFanout({
    ...local,
    onPresenceLost: () => {},
    onProfileLost: ({ user }) => report(undefined, `profile of ${user.id} not told`),
  })
  const publisher: EventPublisher = {
    publish: (events) => {
      metrics.events.inc(events.length)
      for (const event of events) {
        applyEvent(event, { unread, userFanout })
        broker.send(hintOf(event))
      }
    },
    broadcast: (note) => {
      if (note.kind === 'profile') userFanout.profileChanged(note)
      else broker.send(note)
    },
  }
  return { publisher, stop: () => unread.stop() }
}
