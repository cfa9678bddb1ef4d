import { type WebSocket, WebSocketServer } from 'ws'

/**
 * The server that connecting is compared with. It parses and answers every command and keeps the
 * topics of sockets, without tokens, rights, presence, or a database.
 */
const PING_MS = 25_000
const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
const subscribers = new Map<string, Set<WebSocket>>()

server.on('connection', (socket) => {
  const topics: string[] = []
  socket.on('message', (frame: Buffer) => {
    const answers: string[] = []
    for (const line of String(frame).split('\n')) {
      const { id, subscribe }: Command = JSON.parse(line)
      if (id === undefined) continue
      answers.push(JSON.stringify({ id, [subscribe ? 'subscribe' : 'connect']: {} }))
      if (!subscribe) continue
      topics.push(subscribe.channel)
      const known = subscribers.get(subscribe.channel) ?? new Set()
      subscribers.set(subscribe.channel, known.add(socket))
    }
    if (answers.length > 0) socket.send(answers.join('\n'))
  })
  const pings = setInterval(() => socket.send('{}'), PING_MS)
  socket.on('close', () => {
    clearInterval(pings)
    for (const topic of topics) subscribers.get(topic)?.delete(socket)
  })
})
type Command = { id?: number; subscribe?: { channel: string } }

process.on('message', () =>
  process.send?.({ cpu: process.cpuUsage(), rss: process.memoryUsage.rss() }),
)
process.on('disconnect', () => process.exit())
server.on('listening', () => {
  const { port } = server.address() as { port: number } // it listens on TCP
  process.send?.({ url: `ws://127.0.0.1:${port}` })
})
