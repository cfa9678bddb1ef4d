import type { WireRecorder } from './wire-log.ts'
import { withoutSecrets, withoutTokens } from './wire-redact.ts'

type Publication = { data: { type: string }; offset?: number }
/** The messages of the protocol, as far as they are shown: see docs/realtime.md. */
type Command = { id?: number; connect?: object; subscribe?: Subscribe; unsubscribe?: Subscribe }
type Subscribe = { channel: string; recover?: boolean; offset?: number }
type Reply = {
  id?: number
  error?: { message?: string }
  subscribe?: { publications?: Publication[] }
  push?: { channel?: string; pub?: Publication; disconnect?: { reason?: string } }
}
/** Ends the entry of a command when its reply comes. */
type Pending = Map<number, (reply: Reply) => void>

/** A WebSocket class that records its sockets: commands, replies, events, and their end. */
export const recordSockets = (webSocket: typeof WebSocket, recorder: WireRecorder) =>
  new Proxy(webSocket, {
    construct: (Inner, [url, protocols]: ConstructorParameters<typeof WebSocket>) => {
      const socket = new Inner(url, protocols)
      record(socket, recorder)
      return socket
    },
  })

function record(socket: WebSocket, recorder: WireRecorder) {
  const pending: Pending = new Map()
  const start = performance.now()
  const change = recorder.add({ kind: 'socket', name: 'open', detail: 'WebSocket' })
  let isOpen = false
  socket.addEventListener('open', () => {
    isOpen = true
    change({ outcome: { isGood: true, text: 'ok', ms: performance.now() - start } })
  })
  socket.addEventListener('close', ({ code, reason }) => {
    if (!isOpen) return change({ outcome: { isGood: false, text: 'failed' } })
    recorder.add({ kind: 'socket', name: 'close', detail: reason, payload: { code, reason } })
  })
  socket.addEventListener('message', ({ data }) => {
    for (const reply of parse<Reply>(data)) recordReply(reply, { recorder, pending })
  })
  const send = socket.send.bind(socket)
  socket.send = (frame) => {
    for (const command of parse<Command>(frame)) recordCommand(command, { recorder, pending })
    send(frame)
  }
}

/** The messages of a frame, one a line; none of a frame that is not ours. */
function parse<Message>(frame: unknown): Message[] {
  try {
    const lines = String(frame).split('\n').filter(Boolean)
    return lines.map((line) => withoutSecrets(JSON.parse(line)) as Message) // checked by use
  } catch {
    return []
  }
}

type Recording = { recorder: WireRecorder; pending: Pending }

function recordCommand(command: Command, { recorder, pending }: Recording) {
  const { id, ...content } = command
  if (id === undefined) return // an answer to a ping
  const [name = 'command'] = Object.keys(content)
  const { channel, recover, offset } = command.subscribe ?? command.unsubscribe ?? {}
  const since = recover ? ` from #${offset}` : ''
  const start = performance.now()
  const change = recorder.add({
    kind: 'socket',
    name,
    detail: channel && `${channel}${since}`,
    payload: { command: content },
  })
  pending.set(id, (reply) => {
    const text = reply.error ? withoutTokens(reply.error.message ?? 'refused') : 'ok'
    const { id: _, ...answer } = reply
    change({
      outcome: { isGood: !reply.error, text, ms: performance.now() - start },
      payload: { command: content, reply: answer },
    })
    const recovered = reply.subscribe?.publications ?? []
    for (const publication of recovered)
      recordEvent(publication, { recorder, topic: channel, isRecovered: true })
  })
}

function recordReply({ id, push, ...reply }: Reply, { recorder, pending }: Recording) {
  if (id !== undefined) {
    pending.get(id)?.({ id, ...reply })
    pending.delete(id)
    return
  }
  if (push?.pub) return recordEvent(push.pub, { recorder, topic: push.channel })
  if (push) recorder.add({ kind: 'socket', name: Object.keys(push)[0] ?? 'push', payload: push })
}

type EventContext = { recorder: WireRecorder; topic: string | undefined; isRecovered?: boolean }

function recordEvent(
  { data, offset }: Publication,
  { recorder, topic = '', isRecovered }: EventContext,
) {
  const position = offset === undefined ? 'not stored' : `#${offset}`
  recorder.add({
    kind: 'event',
    name: data.type,
    detail: `${topic} ${position}${isRecovered ? ', recovered' : ''}`,
    payload: { topic, offset, ...data },
  })
}
