import type { EventPublisher } from '../core/event-bus.ts'
import type { Metrics } from '../core/metrics.ts'
import type { Db } from '../db/client.ts'
import type { Broker } from './broker/index.ts'
import { createUserFanout } from './fanout/index.ts'
import { applyHint, hintOf, sentHint, withAnnouncer } from './hints.ts'
import { Sessions } from './sessions.ts'
import { timings } from './timings.ts'
import { UnreadNotifier } from './unread/index.ts'

type WorkerOptions = {
  db: Db
  nodeId: string
  broker: Broker
  metrics: Pick<Metrics, 'events'>
  report: (error: unknown, problem: string) => void
}

/**
 * Sends what jobs publish to the nodes that have sockets, and looks up the recipients for them. A
 * worker has no sockets of its own.
 */
export function createWorkerPublisher({ db, nodeId, broker, metrics, report }: WorkerOptions) {
  const options = {
    ...{ db, nodeId, report, sessions: new Sessions() },
    broadcast: () => {},
    hasReceivers: () => true,
    send: broker.send,
  }
  const userFanout = createUserFanout({
    ...options,
    onPresenceLost: () => {},
    onProfileLost: () => {},
    onCopyLost: () => {},
  })
  const unread = new UnreadNotifier({
    ...options,
    interest: broker,
    pauseMs: timings.unreadPauseMs,
  })
  const publisher: EventPublisher = {
    publish: (events) => {
      metrics.events.inc(events.length)
      for (const event of events) {
        const hint = withAnnouncer(hintOf(event), { userFanout })
        applyHint(hint, { unread, userFanout, onCounted: (...given) => unread.markDirty(...given) })
        broker.send(sentHint(hint, { event, broker }))
      }
      // Unlike a node, it compares nothing with the database: what it counted need not be kept.
      unread.invalidateAll()
    },
    broadcast: broker.send,
  }
  const stop = async () => {
    await unread.stop()
    await userFanout.stop()
  }
  return { publisher, stop }
}
