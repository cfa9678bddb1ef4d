import { WebSocket } from 'ws'
import type { CrowdOptions } from './support.ts'

/** The sockets of a benchmark: count the messages each has received, or how long each was on its way. */
const OPENING_AT_ONCE = 200
const NEWLINE = 10

const sockets: WebSocket[] = []
const latencies: number[] = []
const say = (message: object) => process.send?.(message)

process.on('message', async (order: CrowdOptions | 'close' | 'latencies') => {
  if (order === 'latencies') return say({ latencies })
  if (order === 'close') {
    for (const socket of sockets) socket.terminate()
    return process.disconnect()
  }
  const count = createCounter(order)
  for (let start = 0; start < order.count; start += OPENING_AT_ONCE) {
    const end = Math.min(order.count, start + OPENING_AT_ONCE)
    await Promise.all(
      Array.from({ length: end - start }, (_, index) =>
        open(order, { place: start + index, count }),
      ),
    )
  }
  say({ opened: true })
})

async function open(
  { url, hello, topics }: CrowdOptions,
  { place, count }: { place: number; count: (place: number, frame: Buffer) => void },
) {
  const socket = new WebSocket(url, { perMessageDeflate: false })
  sockets.push(socket)
  const greeting = topics
    ? [...hello, { id: 2, subscribe: { channel: topics[place % topics.length] } }]
    : hello
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject)
    socket.on('open', () => {
      if (greeting.length === 0) return resolve()
      socket.send(greeting.map((command) => JSON.stringify(command)).join('\n'))
    })
    socket.on('message', (frame: Buffer) => {
      if (frame[2] === 'p'.charCodeAt(0)) return count(place, frame)
      if (frame.length === 2) return socket.send('{}')
      if (frame.includes('"subscribe"')) resolve()
      if (frame.includes('"error"')) reject(new Error(String(frame)))
    })
  })
}

/** Tells the other process when all sockets have received one message more; or, of stamped ones, how many came in all. */
function createCounter({ count, stamped }: CrowdOptions) {
  const received = new Uint32Array(count)
  let total = 0
  let told = 0
  return (place: number, frame: Buffer) => {
    const messages = linesOf(frame)
    if (stamped) {
      const now = performance.timeOrigin + performance.now()
      for (const [, at] of String(frame).matchAll(/"at":([\d.]+)/g))
        latencies.push(now - Number(at))
      total = latencies.length
      if (total - told < 1_000) return
      told = total
      say({ complete: told })
      return
    }
    received[place] = (received[place] ?? 0) + messages
    total += messages
    // Only when the sum allows it is a look at all of them worth while.
    if (total < (told + 1) * count) return
    const least = received.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
    if (least <= told) return
    told = least
    say({ complete: told })
  }
}

function linesOf(frame: Buffer) {
  let lines = 1
  for (let at = frame.indexOf(NEWLINE); at !== -1; at = frame.indexOf(NEWLINE, at + 1)) lines++
  return lines
}
