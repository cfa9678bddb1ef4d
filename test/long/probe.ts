import { performance } from 'node:perf_hooks'
import { RawSocket } from '../support/socket.ts'

/** The 99.9th percentiles of answer times and of the lateness of requests, in milliseconds. */
export type Probed = { count: number; answerMs: number; lateMs: number }

/**
 * A client of a node, in a process of its own: sends a cheap command every 20 ms, whatever others
 * do. On request it reports the times of the answers since the last request. Its own lateness
 * shows how slow the machine is at the moment.
 */
const EVERY_MS = 20
const [, , url = '', wsToken = ''] = process.argv
const raw = await RawSocket.connect({ url }, { minted: { wsToken } as never })

/** By the id of the command. */
const askedAt = new Map<number, number>()
let answers: number[] = []
let delays: number[] = []
raw.socket.on('message', (data) => {
  for (const line of String(data).split('\n')) {
    const { id } = JSON.parse(line)
    const since = askedAt.get(id)
    if (since !== undefined) answers.push(performance.now() - since)
    askedAt.delete(id)
    if (line === '{}') raw.send({})
  }
  // Messages that were received are not needed again.
  raw.messages.length = 0
  raw.frames.length = 0
})

let id = 1
let dueAt = performance.now() + EVERY_MS
setInterval(() => {
  delays.push(Math.max(0, performance.now() - dueAt))
  dueAt = performance.now() + EVERY_MS
  id += 1
  askedAt.set(id, performance.now())
  raw.send({ id, unsubscribe: { channel: 'none' } })
}, EVERY_MS)

const p999 = (times: number[]) =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.999)] ?? 0
process.on('message', () => {
  // Those that were not answered have taken this long already.
  const waiting = [...askedAt.values()].map((since) => performance.now() - since)
  const times = [...answers, ...waiting]
  const probed: Probed = { count: times.length, answerMs: p999(times), lateMs: p999(delays) }
  answers = []
  delays = []
  process.send?.(probed)
})
process.send?.('ready')
