import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { constants, setPriority } from 'node:os'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { limits, topics } from '@parley/contract'
import { RawSocket } from '../support/socket.ts'

/** The users of a hostile tenant, and a channel that all of them are members of. */
export type Attack = {
  url: string
  appId: string
  channelId: string
  apiKey: string
  users: { token: string; wsToken: string }[]
}
/** How often each kind of call was made. */
export type Counts = Record<string, number>

/**
 * The clients of a hostile tenant, in a process of their own: from `start` to `stop` they make the
 * calls that cost a server most, as fast as it answers. They leave the processors to the server and
 * the database: it is the server that must divide itself fairly.
 */
setPriority(constants.priority.PRIORITY_LOW)
const AT_ONCE = 4
const [attack] = await once(process, 'message')
const { url, appId, channelId, apiKey, users } = attack as Attack // as the test sends it

let turn = 0
const nextUser = () => users[turn++ % users.length] ?? { token: '', wsToken: '' }
const asUser = () => ({ authorization: `Bearer ${nextUser().token}` })
const newKey = () => `pk_${randomBytes(16).toString('hex')}`

let agent = new Agent({ keepAlive: true })
type Request = { headers?: Record<string, string>; body?: object }
/** Resolves once there is an answer, or none will come. */
const ask = (path: string, { headers = asUser(), body }: Request = {}) =>
  new Promise<void>((resolve) => {
    const method = body ? 'POST' : 'GET'
    const type = body ? { 'content-type': 'application/json' } : {}
    request(new URL(path, url), { agent, method, headers: { ...headers, ...type } })
      .on('response', (response) => response.resume().on('close', resolve))
      .on('error', () => resolve())
      .end(body && JSON.stringify(body))
  })

const sockets = new Set<RawSocket>()
const channel = topics.channel(appId, channelId)
const commands = ['presence', 'history', 'unsubscribe', 'subscribe']
/** Connects, and asks for as much as the credit of a socket lets through. */
async function flood() {
  const socket = await RawSocket.open({ url })
  if (!isAttacking) return socket.socket.terminate()
  sockets.add(socket)
  const requests = Array.from({ length: 2_000 }, (_, index) => {
    const name = commands[index % commands.length] ?? 'presence'
    return { id: index + 2, [name]: { channel, ...(name === 'history' && { limit: 100 }) } }
  })
  socket.send({ id: 1, connect: { token: nextUser().wsToken } })
  await socket.reply(1)
  socket.send(...requests)
  await socket.reply(requests.length + 1)
  socket.socket.terminate()
  sockets.delete(socket)
}

/** As many sockets of one user as may be open, each asking who else is there. */
async function presenceQueries() {
  const { wsToken } = nextUser()
  const opened = await Promise.all(
    Array.from({ length: limits.realtime.socketsPerUser }, () => RawSocket.open({ url })),
  )
  const asks = Array.from({ length: 2_400 }, (_, id) => ({ id: id + 2, presence: { channel } }))
  for (const socket of opened) {
    sockets.add(socket)
    socket.send({ id: 1, connect: { token: wsToken } })
    if (!isAttacking) socket.terminate()
  }
  await Promise.all(
    opened.map(async (socket) => {
      try {
        await socket.reply(1)
        socket.send(...asks)
        await socket.reply(asks.length + 1)
      } finally {
        socket.socket.terminate()
        sockets.delete(socket)
      }
    }),
  )
}

const batch = Array.from({ length: 20 }, () => 'channels.list').join()
/** A user who is over the limit of messages, and repeats none. */
const loud = users[0]
const sends = `/api/channels/${channelId}/messages`
const fresh = () => ({ text: 'x', clientId: randomBytes(8).toString('hex') })
const ways: Record<string, () => Promise<void>> = {
  lists: () => ask('/api/channels?limit=100'),
  searches: () => ask(`/api/channels?discover=true&q=${randomBytes(1).toString('hex')}`),
  people: () => ask('/api/users?limit=100&offset=1000&q=a'),
  histories: () => ask(`/api/channels/${channelId}/messages?limit=200`),
  sends: () => ask(sends, { body: { text: 'x'.repeat(1_000) } }),
  overLimit: () =>
    ask(sends, { headers: { authorization: `Bearer ${loud?.token}` }, body: fresh() }),
  messageBatches: () =>
    ask(`${sends}/batch`, { body: { messages: Array.from({ length: 50 }, fresh) } }),
  minting: () =>
    ask('/tokens', { headers: { 'x-api-key': apiKey }, body: { userId: `new${turn++}` } }),
  syncs: () => ask('/api/sync', { body: { channels: { [channelId]: 0 } } }),
  batches: () => ask(`/trpc/${batch}?batch=1`),
  keys: () => ask('/tokens', { headers: { 'x-api-key': newKey() }, body: { userId: 'x' } }),
  tokens: () => ask('/api/channels', { headers: { authorization: `Bearer ${newKey()}` } }),
  floods: flood,
  presenceQueries,
}

let isAttacking = false
let counts: Counts = {}
async function keepOn(name: string, way: () => Promise<void>) {
  while (isAttacking) {
    await way().catch(() => {})
    counts[name] = (counts[name] ?? 0) + 1
    await nextTurn()
  }
}

let attackers: Promise<unknown> = Promise.resolve()
async function stop() {
  isAttacking = false
  agent.destroy()
  agent = new Agent({ keepAlive: true })
  for (const { socket } of sockets) socket.terminate()
  sockets.clear()
  await attackers
  process.send?.(counts)
}
process.on('message', (message) => {
  if (message === 'stop') return stop()
  isAttacking = true
  counts = {}
  const each = Object.entries(ways)
  attackers = Promise.all(
    each.flatMap(([name, way]) => Array.from({ length: AT_ONCE }, () => keepOn(name, way))),
  )
})
process.send?.('ready')
