import { type ChatClient, createChatClient, type Message, type Room } from '@parley/client'
import { answerOf } from '../support/scripted/answers.ts'
import { createChannel, userOf } from '../support/scripted/channel.ts'
import { OnlineUsers } from '../support/scripted/online.ts'
import { createRealtime } from '../support/scripted/socket.ts'
import { median } from './server.ts'

/**
 * The processor time that an event, a page and a send cost a client with 500 and with 10,000
 * messages loaded. The two take turns, before a server in memory, whose own time does not count.
 */
const SIZES = [500, 10_000] as const
const TOPIC = 'chat:app:c'
const REPEATS = process.argv.includes('--smoke') ? 5 : 201
/** The most that each may take with the most messages, and relative to the fewest. */
const MAX_MICROSECONDS = 1_000
const MAX_RATIO = 2

/** How many pages the server has beyond those that are loaded. */
const PAGES_LEFT = 10

type Loaded = Awaited<ReturnType<typeof load>>
type Work = (loaded: Loaded, count: number) => unknown
const works: Record<string, Work> = {
  'new message': ({ publish, talk, revs }) => {
    revs.next()
    publish('message.new', { message: talk.send('new') })
  },
  'edit in the middle': ({ publish, talk, revs }, count) => {
    const message = { ...talk.middle(), text: `edited ${count}`, rev: revs.next() }
    publish('message.updated', { message })
  },
  reaction: ({ publish, talk, revs }, count) => {
    const reactions = [{ type: '👍', count: count + 1, own: false, users: [userOf('ana')] }]
    const reaction = { type: '👍', userId: 'ana' }
    revs.next()
    publish('reaction.added', {
      messageId: talk.middle().id,
      reaction,
      user: userOf('ana'),
      reactions,
    })
  },
  deletion: ({ publish, talk, revs }, count) => {
    const { id, seq } = talk.messages[talk.messages.length - 2 - count] ?? talk.middle()
    revs.next()
    publish('message.deleted', { messageId: id, seq, deletedAt: talk.middle().createdAt })
  },
  page: ({ room }) => room.messages.loadOlder(),
  'send, shown': ({ room }, count) => room.send({ text: `sent ${count}` }).sent,
  'send, stored': ({ room }, count) => room.send({ text: `stored ${count}` }).sent,
}
/** For these the answer is awaited. */
const TRIPS = ['page', 'send, stored']
/** The number of turns after which clients, which grow as they load and send, are replaced. */
const turnsOf = (what: string) => (what === 'page' ? 5 : 50)

const rows: { what: string; small: number; large: number; ratio: number }[] = []
for (const [what, work] of Object.entries(works)) {
  const times = SIZES.map((): number[] => [])
  let clients: Loaded[] = []
  for (let count = 0; count < REPEATS; count++) {
    if (count % turnsOf(what) === 0) {
      for (const { chat } of clients) chat.disconnect()
      clients = await Promise.all(SIZES.map(load))
    }
    for (const [index, loaded] of clients.entries()) {
      loaded.served()
      const before = process.cpuUsage()
      const done = work(loaded, count)
      if (TRIPS.includes(what)) await done
      const { user, system } = process.cpuUsage(before)
      times[index]?.push(user + system - loaded.served())
      await done
      await settled()
    }
  }
  for (const { chat } of clients) chat.disconnect()
  const [small = 0, large = 0] = times.map(median)
  rows.push({ what, small, large, ratio: Number((large / small).toFixed(2)) })
}
report()

/** A live client with `size` messages of a room loaded, and more on the server. */
async function load(size: number) {
  const realtime = createRealtime()
  const talk = createChannel('c', { me: 'me', memberIds: ['me', 'ana'], publish: () => {} })
  for (let count = 0; count < size + PAGES_LEFT * 50; count++) talk.send(`message ${count}`)
  const asked = (request: string, text: string) => {
    const body = JSON.parse(text)
    if (request === 'POST /api/channels/c/messages')
      return talk.send(body.text, { by: 'me', clientId: body.clientId })
    const data = { me: 'me', channels: new Map([['c', talk]]), online: new OnlineUsers() }
    return answerOf({ ...data, total: 0, snapshot: 0, settingsVersion: 0 }, { request, body })
  }
  let microseconds = 0
  const fetch = async (url: string, { method = 'GET', body = '{}' }: RequestInit = {}) => {
    const startedAt = performance.now()
    const page = pageOf(url, talk.messages)
    const text = JSON.stringify(page ?? asked(`${method} ${url.slice(11)}`, String(body)))
    microseconds += 1_000 * (performance.now() - startedAt)
    // The cost of a real response is that of the platform, so this one is as cheap as possible.
    return { ok: true, text: async () => text }
  }
  /** The time that the server has worked since the last call of this. */
  const served = () => {
    const before = microseconds
    microseconds = 0
    return before
  }
  const token = { token: 't', wsToken: 't', expiresIn: 86_400, appId: 'app', wsUrl: 'ws://chat' }
  const chat: ChatClient = createChatClient({
    url: 'http://chat',
    token: () => ({ ...token, user: userOf('me') }),
    fetch: fetch as unknown as typeof globalThis.fetch, // as far as the client uses it
    webSocket: realtime.webSocket,
  })
  const room: Room = chat.channel('c')
  let shown = room.messages.getSnapshot().items
  room.messages.subscribe(() => {
    shown = room.messages.getSnapshot().items
  })
  await chat.connect()
  while (shown.length < size) {
    await settled()
    await room.messages.loadOlder()
  }
  let rev = talk.rev + 1_000_000
  const revs = {
    next: () => ++rev,
    get rev() {
      return rev
    },
  }
  const { messages } = talk
  const at = (index: number) => messages[index] ?? impossible()
  const middle = () => at(messages.length - Math.floor(size / 2))
  const publish = (type: string, payload: object) =>
    realtime.publish(TOPIC, { type, payload: { channelId: 'c', ...payload } }, rev)
  return { chat, room, revs, publish, served, talk: { messages, middle, send: talk.send } }
}

/** The page before a message: at once, whatever the number of messages. */
function pageOf(url: string, messages: readonly Message[]) {
  const before = /before=c-(\d+)/.exec(url)?.[1]
  if (before === undefined) return undefined
  const end = Number(before) - 1
  return { messages: messages.slice(Math.max(0, end - 50), end), hasMore: end > 50 }
}

function impossible(): never {
  throw new Error('there is no such message')
}

/** Resolves once everything that needs no network has happened. */
async function settled() {
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
}

function report() {
  if (process.argv.includes('--json')) console.log(JSON.stringify({ rows }, null, 2))
  else
    for (const { what, small, large, ratio } of rows) {
      const figures = [small, large].map((value) => `${value.toFixed(0).padStart(6)} µs`)
      console.log(`${what.padEnd(20)}${figures.join(' ')}  × ${ratio.toFixed(2)}`)
    }
  const slow = rows.filter(({ large, ratio }) => large >= MAX_MICROSECONDS || ratio >= MAX_RATIO)
  if (slow.length === 0 || process.argv.includes('--smoke')) return
  const limits = `${MAX_MICROSECONDS} µs, or × ${MAX_RATIO}`
  console.error(`more than ${limits}: ${slow.map(({ what }) => what).join(', ')}`)
  process.exitCode = 1
}
