import { connectOnce, createDb } from '../db/client.ts'
import { ownSchema } from '../db/own-schema.ts'
import type { Broker, NodeNote } from './broker.ts'
import { createListenerWatch, type ListenerWatch } from './listener-watch.ts'
import { NoteAssembler } from './note-pieces.ts'
import { createNoteSender } from './note-sender.ts'
import { timings as defaults, type Timings } from './timings.ts'

const STOP_SECONDS = 1

type PostgresBrokerOptions = {
  url: string
  nodeId: string
  report: (error: unknown, problem: string) => void
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
  timings,
}: PostgresBrokerOptions): Broker & { listener: ListenerWatch } {
  const { brokerBeatMs, brokerSilenceMs } = { ...defaults, ...timings }
  const schema = ownSchema(url)
  /** Services in other schemas have channels of their own. */
  const channel = schema === undefined ? 'parley' : `parley_${schema}`
  const notifier = createNotifier({ url, channel, report })
  let listener: ReturnType<typeof connectOnce> | undefined
  let lastHeartbeatAt = performance.now()
  /** When a note of our own last arrived, on whichever connection. */
  let receivedAt = lastHeartbeatAt
  let heartbeat: NodeJS.Timeout | undefined
  const watch = createListenerWatch(brokerSilenceMs)

  const sender = createNoteSender({ nodeId, notify: (payloads) => notifier.notify(payloads) })
  const listen = async (onPayload: (payload: string) => void, onListening: () => void) => {
    const previous = listener
    lastHeartbeatAt = performance.now()
    const current = connectOnce(url)
    listener = current
    void previous?.end({ timeout: 0 })
    await current.listen(channel, onPayload, onListening)
  }

  return {
    listener: watch,
    send: sender.send,
    async start({ onNote, onMissedNotes }) {
      const onPayload = createReceiver({
        nodeId,
        onNote,
        onOwn: (isBeat) => {
          lastHeartbeatAt = performance.now()
          receivedAt = lastHeartbeatAt
          watch.received(isBeat)
        },
      })
      const onListening = () => {
        watch.restarted()
        onMissedNotes(performance.now() - receivedAt)
      }
      await listen(onPayload, onListening)
      heartbeat = setInterval(() => {
        if (!sender.isFlushing()) void notifier.notify([`${nodeId}\n`], watch.sent())
        if (performance.now() - lastHeartbeatAt <= brokerSilenceMs) return
        listen(onPayload, onListening).catch((error) => report(error, 'broker listen failed'))
      }, brokerBeatMs)
    },
    async stop() {
      clearInterval(heartbeat)
      await sender.flushed()
      await Promise.all([notifier.end(), listener?.end({ timeout: STOP_SECONDS })])
    },
  }
}

type NotifierOptions = Pick<PostgresBrokerOptions, 'url' | 'report'> & { channel: string }

function createNotifier({ url, channel, report }: NotifierOptions) {
  // A pool of one: it replaces a connection that fails.
  const db = createDb({ url, poolSize: 1, applicationName: 'parley-broker' })
  return {
    notify: (payloads: string[], onFailed = () => {}) =>
      db
        .use(
          (db) => db`
            select pg_notify(${channel}, payload)
            from unnest(${payloads}::text[]) as payload`,
        )
        .catch((error) => {
          onFailed()
          report(error, 'broker notify failed')
        }),
    end: () => db.end({ timeout: STOP_SECONDS }),
  }
}

type ReceiverOptions = {
  nodeId: string
  onNote: (note: NodeNote) => void
  /** Called when a payload of this node has come back: one of its beats, or notes. */
  onOwn: (isBeat: boolean) => void
}

function createReceiver({ nodeId, onNote, onOwn }: ReceiverOptions) {
  const assembler = new NoteAssembler()
  return (payload: string) => {
    const end = payload.indexOf('\n')
    if (payload.slice(0, end) === nodeId) return onOwn(payload.length === end + 1)
    const lines = payload.slice(end + 1).split('\n')
    for (const line of lines) {
      const note = assembler.accept(payload.slice(0, end), line)
      if (note) onNote(JSON.parse(note) as NodeNote) // sent by another node
    }
  }
}
