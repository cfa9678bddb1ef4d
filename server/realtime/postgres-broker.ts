import { connectOnce, createDb } from '../db/client.ts'
import { ownSchema } from '../db/own-schema.ts'
import type { Broker, NodeNote } from './broker.ts'
import { createListenerWatch, type ListenerWatch } from './listener-watch.ts'
import { NoteAssembler, piecesOf } from './note-pieces.ts'
import { timings as defaults, type Timings } from './timings.ts'

/** Pause between NOTIFYs: each takes a lock that the commits of all other notifiers wait for. */
const FLUSH_MS = 8
/** Postgres rejects payloads of 8,000 bytes. */
const PAYLOAD_BYTES = 7_900
/** The largest line: a payload also holds the id of its node. */
const LINE_BYTES = PAYLOAD_BYTES - 100
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
  // A pool of one: it replaces a connection that fails.
  const notifier = createDb({ url, poolSize: 1, applicationName: 'parley-broker' })
  let listener: ReturnType<typeof connectOnce> | undefined
  let pending: string[] = []
  let flushing: Promise<void> | undefined
  let lastHeartbeatAt = performance.now()
  /** When a note of our own last arrived, on whichever connection. */
  let heardAt = lastHeartbeatAt
  let heartbeat: NodeJS.Timeout | undefined
  const watch = createListenerWatch(brokerSilenceMs)

  const send = (note: NodeNote) => {
    const text = JSON.stringify(note)
    if (Buffer.byteLength(text) <= LINE_BYTES) pending.push(text)
    else pending.push(...piecesOf(text, LINE_BYTES))
    flushing ??= flush()
  }
  const notify = (payloads: string[]) =>
    notifier
      .use(
        (db) => db`
          select pg_notify(${channel}, payload)
          from unnest(${payloads}::text[]) as payload`,
      )
      .catch((error) => report(error, 'broker notify failed'))
  const flush = async () => {
    await sleep(FLUSH_MS)
    while (pending.length > 0) {
      const notes = pending
      pending = []
      const pause = sleep(FLUSH_MS)
      await notify(pack(nodeId, notes))
      await pause
    }
    flushing = undefined
  }
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
    send,
    async start({ onNote, onMissedNotes }) {
      const assembler = new NoteAssembler()
      const onPayload = (payload: string) => {
        const end = payload.indexOf('\n')
        if (payload.slice(0, end) === nodeId) {
          lastHeartbeatAt = performance.now()
          heardAt = lastHeartbeatAt
          watch.heard(payload.length === end + 1)
          return
        }
        const lines = payload.slice(end + 1).split('\n')
        for (const line of lines) {
          const note = assembler.accept(payload.slice(0, end), line)
          if (note) onNote(JSON.parse(note) as NodeNote) // sent by another node
        }
      }
      const onListening = () => {
        watch.restarted()
        onMissedNotes(performance.now() - heardAt)
      }
      await listen(onPayload, onListening)
      heartbeat = setInterval(() => {
        if (!flushing) {
          watch.sent()
          void notify([`${nodeId}\n`])
        }
        if (performance.now() - lastHeartbeatAt <= brokerSilenceMs) return
        listen(onPayload, onListening).catch((error) => report(error, 'broker listen failed'))
      }, brokerBeatMs)
    },
    async stop() {
      clearInterval(heartbeat)
      await flushing
      await Promise.all([
        notifier.end({ timeout: STOP_SECONDS }),
        listener?.end({ timeout: STOP_SECONDS }),
      ])
    },
  }
}

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Packs notes into few payloads: the id of their node, then a line for each note. */
function pack(nodeId: string, notes: string[]) {
  const payloads: string[] = []
  let payload = nodeId
  let bytes = nodeId.length
  for (const note of notes) {
    const added = Buffer.byteLength(note) + 1
    if (bytes + added > PAYLOAD_BYTES) {
      payloads.push(payload)
      payload = nodeId
      bytes = nodeId.length
    }
    payload += `\n${note}`
    bytes += added
  }
  return [...payloads, payload]
}
