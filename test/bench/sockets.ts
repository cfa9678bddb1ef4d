import { WebSocket } from 'ws'
import type { SocketsOptions } from './support.ts'

/** The sockets of a benchmark: they count the messages received, or measure how long each took. */
const OPENING_AT_ONCE = 200
const NEWLINE = 10

const sockets: WebSocket[] = []
const latencies: number[] = []
const report = (message: object) => process.send?.(message)

/** The number of latencies that the other process waits for, while it waits. */
let awaited: number | undefined

process.on('message', async (order: SocketsOptions | { latencies: number } | 'close') => {
  if (order === 'close') {
    for (const socket of sockets) socket.terminate()
    return process.disconnect()
  }
  if ('latencies' in order) {
    awaited = order.latencies
    return reportLatencies()
  }
  const count = createCounter(order)
  for (let start = 0; start < order.count; start += OPENING_AT_ONCE) {
    const end = Math.min(order.count, start + OPENING_AT_ONCE)
    await Promise.all(
      Array.from({ length: end - start }, (_, offset) =>
        open(order, { index: start + offset, count }),
      ),
    )
  }
  report({ opened: true })
})

async function open(
  { url, commands, topics }: SocketsOptions,
  { index, count }: { index: number; count: (index: number, frame: Buffer) => void },
) {
  const socket = new WebSocket(url, { perMessageDeflate: false })
  sockets.push(socket)
  const opening = topics
    ? [...commands, { id: 2, subscribe: { channel: topics[index % topics.length] } }]
    : commands
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject)
    socket.on('open', () => {
      if (opening.length === 0) return resolve()
      socket.send(opening.map((command) => JSON.stringify(command)).join('\n'))
    })
    socket.on('message', (frame: Buffer) => {
      if (frame[2] === 'p'.charCodeAt(0)) return count(index, frame)
      if (frame.length === 2) return socket.send('{}')
      if (frame.includes('"subscribe"')) resolve()
      if (frame.includes('"error"')) reject(new Error(String(frame)))
    })
  })
}

function reportLatencies() {
  if (awaited === undefined || latencies.length < awaited) return
  awaited = undefined
  report({ latencies })
}

/**
 * Reports to the other process when all sockets have received one more message. For stamped
 * messages, it keeps how long each took.
 */
function createCounter({ count, stamped }: SocketsOptions) {
  const received = new Uint32Array(count)
  let total = 0
  let reported = 0
  return (index: number, frame: Buffer) => {
    const messages = linesOf(frame)
    if (stamped) {
      const now = performance.timeOrigin + performance.now()
      for (const [, at] of String(frame).matchAll(/"at":([\d.]+)/g))
        latencies.push(now - Number(at))
      return reportLatencies()
    }
    received[index] = (received[index] ?? 0) + messages
    total += messages
    // Looks at every socket only when the sum allows that all have received one more.
    if (total < (reported + 1) * count) return
    const least = received.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
    if (least <= reported) return
    reported = least
    report({ complete: reported })
  }
}

function linesOf(frame: Buffer) {
  let lines = 1
  for (let at = frame.indexOf(NEWLINE); at !== -1; at = frame.indexOf(NEWLINE, at + 1)) lines++
  return lines
}
