import { connect, type Socket } from 'node:net'

/**
 * The clients of the benchmark, in a process of their own: keep-alive connections that repeat
 * prepared requests, each once the last was answered. They read the status and the length of an
 * answer and nothing else, so that little of the machine is theirs.
 */
export type Load = { port: number; connections: number; seconds: number; requests: string[] }
export type LoadResult = {
  answered: number
  failed: number
  seconds: number
  /** Of the answers, in milliseconds. */
  p50: number
  p99: number
  cpuSeconds: number
}

process.on('message', async (load: Load) => process.send?.(await run(load)))
process.on('disconnect', () => process.exit())

async function run({ port, connections, seconds, requests }: Load): Promise<LoadResult> {
  const clients = await Promise.all(Array.from({ length: connections }, () => open(port)))
  const latencies: number[] = []
  let failed = 0
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  const endsAt = startedAt + seconds * 1_000
  await Promise.all(
    clients.map(async ({ ask }, index) => {
      for (let at = index; performance.now() < endsAt; at += connections) {
        const askedAt = performance.now()
        const status = await ask(requests[at % requests.length] ?? '')
        latencies.push(performance.now() - askedAt)
        if (!status.startsWith('2')) failed += 1
      }
    }),
  )
  const took = (performance.now() - startedAt) / 1_000
  const cpu = process.cpuUsage(cpuBefore)
  for (const { socket } of clients) socket.destroy()
  latencies.sort((a, b) => a - b)
  const percentile = (percent: number) =>
    latencies[Math.floor((latencies.length * percent) / 100)] ?? 0
  return {
    answered: latencies.length,
    failed,
    seconds: took,
    p50: percentile(50),
    p99: percentile(99),
    cpuSeconds: (cpu.user + cpu.system) / 1e6,
  }
}

type Client = { socket: Socket; ask: (request: string) => Promise<string> }

const open = (port: number) =>
  new Promise<Client>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    socket.setNoDelay(true)
    let received = ''
    let answer = (_: string) => {}
    let fail = reject
    socket.on('data', (data) => {
      received += data.toString('latin1')
      const status = statusOfWhole(received)
      if (status === undefined) return
      received = ''
      answer(status)
    })
    socket.on('error', (error) => fail(error))
    socket.on('close', () => fail(new Error('the server closed a connection')))
    socket.on('connect', () =>
      resolve({
        socket,
        ask: (request) =>
          new Promise((resolveAnswer, rejectAnswer) => {
            answer = resolveAnswer
            fail = rejectAnswer
            socket.write(request)
          }),
      }),
    )
  })

/** The status of an answer that has arrived as a whole. */
function statusOfWhole(received: string) {
  const end = received.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(received.slice(0, end + 2))?.[1] ?? 0)
  return received.length >= end + 4 + length ? received.slice(9, 12) : undefined
}
