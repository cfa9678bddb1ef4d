import { connectOnce, createDb } from '../../db/client.ts'
import { pacedSockets } from '../../db/paced-sockets.ts'
import { ownSchema } from '../../db/schema-name.ts'
import { timings as defaults, type Timings } from '../timings.ts'
import type { Broker } from './index.ts'
import { createListenerWatch, type ListenerWatch } from './listener-watch.ts'
import { createNoteCounts } from './note-counts.ts'
import { createNoteReceiver, LEAVE } from './note-receiver.ts'
import { createNoteSender } from './note-sender.ts'

const STOP_SECONDS = 1
/** The most beats that a tick counts for: time in which the process was stopped is no silence. */
const LONGEST_BEATS = 1.5

type PostgresBrokerOptions = {
  url: string
  nodeId: string
  report: (error: unknown, problem: string) => void
  /** Called with the number of notes that could not be sent. */
  onLost?: (count: number) => void
  timings?: Partial<Timings> | undefined
}

/**
 * Sends notes by NOTIFY and receives them by LISTEN, each on a connection of its own, outside every
 * transaction of the service.
 */
export function createPostgresBroker({
  url,
  nodeId,
  report,
  onLost,
  timings,
}: PostgresBrokerOptions): Broker & { listener: ListenerWatch } {
  const { brokerBeatMs, brokerSilenceMs, silentNodeMs, lookMs } = { ...defaults, ...timings }
  const schema = ownSchema(url)
  /** Services in other schemas have channels of their own. */
  const channel = schema === undefined ? 'parley' : `parley_${schema}`
  const notifier = createNotifier({ url, channel, nodeId, report })
  let listener: Listener | undefined
  /** For how long the connection that listens has been silent while this process ran. */
  let silentMs = 0
  let countedAt = performance.now()
  /** When a note of our own last arrived, on whichever connection. */
  let receivedAt = countedAt
  let heartbeat: NodeJS.Timeout | undefined
  let silenceWatch: NodeJS.Timeout | undefined
  const watch = createListenerWatch(brokerSilenceMs)
  let handleMissed = (_milliseconds: number, _nodeId?: string) => {}
  /** Tells the other nodes at once that there may be users here. */
  const introduce = () => notifier.notify([`${nodeId}\n`])
  const counts = createNoteCounts({
    silentMs: silentNodeMs,
    onMissed: (...missed) => handleMissed(...missed),
    onPeer: () => void introduce(),
  })

  const sender = createNoteSender({
    nodeId,
    notify: (payloads) => notifier.notify(payloads, () => onLost?.(payloads.length)),
    onLost: (count) => {
      notifier.skip()
      onLost?.(count)
      report(new Error(`${count} notes were lost`), 'too many notes wait for the database')
    },
  })
  const listen = async (onPayload: (payload: string) => void, onListening: () => void) => {
    const previous = listener
    silentMs = 0
    const current = openListener(url)
    listener = current
    void previous?.end(0)
    await current.listen(channel, onPayload, onListening).catch((error: unknown) => {
      // If it was replaced meanwhile, its error does not matter.
      if (listener === current) throw error
    })
  }

  return {
    listener: watch,
    send: sender.send,
    // Everything that is sent reaches every node.
    follow: () => {},
    unfollow: () => {},
    settled: () => undefined,
    // True before the start, and while the listening connection is away: then it cannot know.
    hasPeers: () => listener === undefined || counts.hasPeers(),
    async start({ onNote, onMissedNotes }) {
      handleMissed = onMissedNotes
      const onPayload = createNoteReceiver({
        nodeId,
        counts,
        onNote,
        onOwn: (isBeat) => {
          silentMs = 0
          receivedAt = performance.now()
          watch.received(isBeat)
          // Everything that the others sent before this beat has arrived.
          if (isBeat) counts.check(receivedAt)
        },
        report,
      })
      let onStarted = () => {}
      const onListening = () => {
        onStarted()
        watch.restarted()
        counts.restarted()
        onMissedNotes(performance.now() - receivedAt)
        if (heartbeat) void introduce()
      }
      // From the start: even the first connection may fall silent before it is ready.
      silenceWatch = setInterval(
        () => {
          const now = performance.now()
          // Notes that arrived while the process was stopped are read after this.
          silentMs += Math.min(now - countedAt, LONGEST_BEATS * brokerBeatMs)
          countedAt = now
          if (silentMs <= brokerSilenceMs) return
          listen(onPayload, onListening).catch((error) => report(error, 'broker listen failed'))
        },
        Math.min(lookMs, brokerBeatMs),
      )
      await new Promise<void>((resolve, reject) => {
        onStarted = resolve
        listen(onPayload, onListening).catch(reject)
      })
      await introduce()
      heartbeat = setInterval(() => {
        if (!sender.isFlushing()) void notifier.notify([`${nodeId}\n`], watch.sent())
      }, brokerBeatMs)
    },
    async stop() {
      clearInterval(heartbeat)
      clearInterval(silenceWatch)
      await sender.flushed()
      await notifier.leave()
      await Promise.all([notifier.end(), listener?.end(STOP_SECONDS)])
    },
  }
}

type Listener = ReturnType<typeof openListener>

/** The connection that listens. It reconnects by itself. */
function openListener(url: string) {
  const sockets = pacedSockets()
  const sql = connectOnce(url, {
    applicationName: 'parley-listener',
    socket: sockets.open,
    backoff: () => 0,
  })
  return {
    listen: sql.listen,
    end: (timeout: number) => {
      sockets.end()
      return sql.end({ timeout })
    },
  }
}

type NotifierOptions = Pick<PostgresBrokerOptions, 'url' | 'nodeId' | 'report'> & {
  channel: string
}

/** Sends payloads, each with the next number of this node after its id. */
function createNotifier({ url, channel, nodeId, report }: NotifierOptions) {
  // A pool of one: it replaces a connection that fails.
  const db = createDb({ url, poolSize: 1, applicationName: 'parley-broker' })
  let sent = 0
  /** A failed payload has used up its number, so the receivers of the next one notice the loss. */
  const numbered = (payload: string) => `${nodeId}\n${++sent}${payload.slice(nodeId.length)}`
  const send = (payloads: string[], until?: number) => {
    const numberedPayloads = payloads.map(numbered)
    return db.use(
      (db) => db`
        select pg_notify(${channel}, payload)
        from unnest(${numberedPayloads}::text[]) as payload`,
      until,
    )
  }
  return {
    /**
     * Uses up a number for something that is not sent, so that the receivers of the next one
     * notice.
     */
    skip: () => {
      sent += 1
    },
    notify: (payloads: string[], onFailed = () => {}) =>
      send(payloads).catch((error) => {
        onFailed()
        report(error, 'broker notify failed')
      }),
    /**
     * If this fails, the others notice the silence. Not needed if this node sent nothing, since
     * they do not know it.
     */
    leave: async () => {
      if (sent === 0) return
      const until = performance.now() + STOP_SECONDS * 1_000
      await send([`${nodeId}\n${LEAVE}`], until).catch(() => {})
    },
    end: () => db.end({ timeout: STOP_SECONDS }),
  }
}
