import { WebSocket } from 'ws'

/**
 * The clients of the benchmark, in a process of their own: each is another user, with a topic of
 * their own and those of their channels. They answer pings, and read nothing else.
 */
export type Client = { token: string; topics: string[] }
export type Order =
  | { kind: 'open'; url: string; clients: Client[]; atOnce: number }
  /** Cuts all connections, and opens them again. */
  | { kind: 'storm' }
  | { kind: 'close' }
/** `frames`: how many all sockets received meanwhile. */
export type Opened = { seconds: number; cpuSeconds: number; frames: number }

let open: Extract<Order, { kind: 'open' }> | undefined
let sockets: WebSocket[] = []
let frames = 0

process.on('message', async (order: Order) => {
  if (order.kind === 'open') open = order
  for (const socket of sockets) socket.terminate()
  sockets = []
  if (order.kind === 'close') return process.disconnect()
  process.send?.(await openAll())
})

async function openAll(): Promise<Opened> {
  if (!open) throw new Error('nothing to open')
  const { url, clients, atOnce } = open
  const queue = [...clients]
  frames = 0
  const startedAt = performance.now()
  const cpuBefore = process.cpuUsage()
  const work = async () => {
    for (let client = queue.pop(); client; client = queue.pop()) await connect(url, client)
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  const cpu = process.cpuUsage(cpuBefore)
  return {
    seconds: (performance.now() - startedAt) / 1_000,
    cpuSeconds: (cpu.user + cpu.system) / 1e6,
    frames,
  }
}

/** Resolves once every topic is subscribed to. */
function connect(url: string, { token, topics }: Client) {
  const socket = new WebSocket(url, { perMessageDeflate: false })
  sockets.push(socket)
  const commands = [
    { id: 1, connect: { token } },
    ...topics.map((channel, index) => ({ id: index + 2, subscribe: { channel } })),
  ]
  let waiting = commands.length
  return new Promise<void>((resolve, reject) => {
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server closed a connection')))
    socket.on('open', () =>
      socket.send(commands.map((command) => JSON.stringify(command)).join('\n')),
    )
    socket.on('message', (frame: Buffer) => {
      frames += 1
      if (frame.length === 2) return socket.send('{}')
      if (waiting === 0) return
      if (frame.includes('"error"')) return reject(new Error(String(frame)))
      waiting -= String(frame).split('{"id":').length - 1
      if (waiting === 0) resolve()
    })
  })
}
