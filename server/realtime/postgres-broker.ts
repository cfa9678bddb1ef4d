import { connectOnce, createDb } from '../db/client.ts'
import type { Broker, Note } from './broker.ts'

const CHANNEL = 'parley'
/** At most one NOTIFY in this time: each takes a lock that all commits of other notifiers wait for. */
const FLUSH_MS = 8
/** Postgres refuses payloads of 8,000 bytes. */
const PAYLOAD_BYTES = 7_900
/** Every node hears its own beat; when it does not, the listening connection is dead, whatever the driver thinks. */
const BEAT_MS = 5_000
const DEAF_MS = 12_000
const STOP_SECONDS = 1

type Report = (error: unknown, problem: string) => void

/** Notes over LISTEN and NOTIFY, each on a connection of its own, outside every transaction of the service. */
export function createPostgresBroker({
  url,
  nodeId,
  report,
}: {
  url: string
  nodeId: string
  report: Report
}): Broker {
  // One connection, that is replaced when it fails.
  const speaker = createDb({ url, poolSize: 1, applicationName: 'parley-broker' })
  let listener: ReturnType<typeof connectOnce> | undefined
  let waiting: string[] = []
  let flushing: Promise<void> | undefined
  let lastHeard = Date.now()
  let beat: NodeJS.Timeout | undefined

  const send = (note: Note) => {
    const text = JSON.stringify(note)
    // No event of ours comes near this size; what does is ephemeral and can be missed.
    if (Buffer.byteLength(text) > PAYLOAD_BYTES - 100)
      return report(
        undefined,
        `a note of ${text.length} characters is too large for NOTIFY: ${text.slice(0, 100)}`,
      )
    waiting.push(text)
    flushing ??= flush()
  }
  const notify = (payloads: string[]) =>
    speaker.use(
      (db) => db`select pg_notify(${CHANNEL}, payload) from unnest(${payloads}::text[]) as payload`,
    )
  const flush = async () => {
    await new Promise((resolve) => setTimeout(resolve, FLUSH_MS))
    while (waiting.length > 0) {
      const texts = waiting
      waiting = []
      const pause = new Promise((resolve) => setTimeout(resolve, FLUSH_MS))
      await notify(pack(nodeId, texts)).catch((error) =>
        report(error, 'could not notify other nodes'),
      )
      await pause
    }
    flushing = undefined
  }
  const listen = async (onPayload: (payload: string) => void, onGap: () => void) => {
    const deaf = listener
    lastHeard = Date.now()
    const fresh = connectOnce(url)
    listener = fresh
    void deaf?.end({ timeout: 0 })
    await fresh.listen(CHANNEL, onPayload, onGap)
  }

  return {
    send,
    async start({ onNote, onGap }) {
      const onPayload = (payload: string) => {
        const end = payload.indexOf('\n')
        if (payload.slice(0, end) === nodeId) lastHeard = Date.now()
        else
          for (const text of payload.slice(end + 1).split('\n'))
            if (text !== '') onNote(JSON.parse(text) as Note) // written by another node
      }
      await listen(onPayload, onGap)
      beat = setInterval(() => {
        if (!flushing)
          void notify([`${nodeId}\n`]).catch((error) =>
            report(error, 'could not notify other nodes'),
          )
        if (Date.now() - lastHeard > DEAF_MS)
          void listen(onPayload, onGap).catch((error) =>
            report(error, 'could not listen to other nodes'),
          )
      }, BEAT_MS)
    },
    async stop() {
      clearInterval(beat)
      await flushing
      await Promise.all([
        speaker.end({ timeout: STOP_SECONDS }),
        listener?.end({ timeout: STOP_SECONDS }),
      ])
    },
  }
}

/** Notes, a line each, behind the name of their node, in as few payloads as they fit into. */
function pack(nodeId: string, texts: string[]) {
  const payloads: string[] = []
  let payload = nodeId
  let bytes = nodeId.length
  for (const text of texts) {
    const added = Buffer.byteLength(text) + 1
    if (bytes + added > PAYLOAD_BYTES) {
      payloads.push(payload)
      payload = nodeId
      bytes = nodeId.length
    }
    payload += `\n${text}`
    bytes += added
  }
  return [...payloads, payload]
}
