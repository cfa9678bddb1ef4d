import { once } from 'node:events'
import { limits, topics } from '@parley/contract'
import { inChunks } from '@parley/server/realtime/chunks'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { upTo } from '../support/events.ts'
import { createTalk, fillChannels, fillEvents } from '../support/large-answers.ts'
import { RawSocket } from '../support/socket.ts'
import { type User, useWorld } from '../support/world.ts'
import { useMeasuredNode } from './measured-node.ts'
import { shortDelays } from './short-delays.ts'

const world = useWorld()
const { url: nodeUrl, delayDuring } = useMeasuredNode(world, {
  timings: { pingMs: 5_000, reconcileMs: 1_000 },
})
const expectShortDuring = shortDelays(delayDuring)

const { frameBytes } = limits.realtime
const filled = (line: string) => line.repeat(Math.floor(frameBytes / line.length))
const nested = `{"id":1,"send":{"data":${'['.repeat(500_000)}${']'.repeat(500_000)}}}`
const frames: Record<string, string | Buffer> = {
  'lines of {}': filled('{}\n'),
  'a deep object': nested,
  '349,000 lines': filled('1\n'),
  'lines of sends': filled('{"send":{}}\n'),
  'zero bytes': Buffer.alloc(frameBytes),
}
const open = (frame: string | Buffer) =>
  RawSocket.open(
    { url: nodeUrl() },
    { protocols: typeof frame === 'string' ? [] : ['centrifuge-protobuf'] },
  )

/** Connects a socket that answers pings, and so stays open, however slow the machine is. */
async function connectLasting(user: User) {
  const raw = await RawSocket.connect({ url: nodeUrl() }, user)
  raw.socket.on('message', (data) => {
    if (String(data).split('\n').includes('{}')) raw.send({})
  })
  return raw
}

test.each(Object.entries(frames))(
  'other users do not wait while mebibytes of %s come in',
  async (_, frame) => {
    const ana = await world().user('ana')
    const attack = async () => {
      for (let round = 0; round < 20; round++) {
        const raw = await open(frame)
        raw.socket.send(frame)
        await raw.closed
        if (typeof frame !== 'string') continue
        const known = await RawSocket.connect({ url: nodeUrl() }, ana)
        known.socket.send(frame)
        await known.closed
      }
    }
    await expectShortDuring(attack)
  },
)

const LAST = 2_402
const commands = [
  ...['subscribe', 'unsubscribe', 'publish', 'presence', 'presence_stats', 'history'],
  ...['rpc', 'refresh', 'sub_refresh', 'ping', 'send'],
]

test('many strangers who send halves of frames are cut, and users are still answered', async () => {
  const ana = await connectLasting(await world().user('ana'))
  const half = Buffer.alloc(frameBytes - 1, 'x')
  const codes: number[] = []
  for (let count = 0; count < 200; count++) {
    const raw = await open('')
    void raw.closed.then(({ code }) => codes.push(code))
    raw.socket.send(half, { fin: false })
  }
  // Sockets that are not cut are closed because they never send a connect command.
  await expect.poll(() => codes.length, { timeout: 60_000 }).toBe(200)
  expect(codes.filter((code) => code === 1006).length).toBeGreaterThan(50)
  expect(await ana.ask({ id: 2, unsubscribe: { channel: 'none' } })).toHaveProperty('unsubscribe')
})

test('other users do not wait while 2,400 commands of each kind come in', async () => {
  const ana = await world().user('ana')
  const channel = topics.user(world().appId, 'ana')
  const attack = async () => {
    for (const name of commands) {
      const raw = await connectLasting(ana)
      const request = name === 'refresh' ? { token: ana.minted.wsToken } : { channel }
      const each = upTo(LAST - 1, 2).map((id) => ({ id, [name]: request }))
      // Tokens are long: all would be more than a frame may have.
      for (const some of inChunks(each, 600)) raw.send(...some)
      raw.send({ id: LAST, unsubscribe: { channel } })
      await raw.until(({ id }) => id === LAST, 600_000)
      raw.socket.terminate()
    }
  }
  await expectShortDuring(attack)
}, 1_200_000)

test('others do not wait for 20 sockets of 1,000 topics, nor while they are idle', async () => {
  const ana = await world().user('ana')
  const { db, appId } = world()
  const rows = await db<{ id: string }[]>`
    insert into channels (id, app_id, cid, type, created_by, name)
    select gen_random_uuid(), ${appId}, 'public:wide-' || n, 'public', 'ana', 'x'
    from generate_series(1, 20000) n
    returning id`
  const sockets: RawSocket[] = []
  const subscribeAll = async () => {
    for (let index = 0; index < 20; index++) {
      const raw = await connectLasting(ana)
      sockets.push(raw)
      const some = rows.slice(index * 1_000, (index + 1) * 1_000)
      raw.send(
        ...some.map(({ id }, position) => ({
          id: position + 2,
          subscribe: { channel: topics.channel(appId, id) },
        })),
      )
      await raw.reply(1_001)
    }
  }
  await expectShortDuring(subscribeAll, 1)
  // The first ping comes after 2.5 to 5 s: reconciliation has run twice by then.
  const last = await connectLasting(ana)
  sockets.push(last)
  const idle = () => last.ping()
  await expectShortDuring(idle)
  for (const { socket } of sockets) socket.terminate()
})

test('other users do not wait for links in hostile texts of 10,000 characters', async () => {
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const texts = [
    'http://',
    'www.a.',
    'a@',
    '@a.b',
    '`',
    '```',
    '(((http://a.b',
    '.a-',
    'https://a?',
  ]
  const attack = async () => {
    for (const text of texts.map((part) => part.repeat(10_000).slice(0, 10_000))) {
      const sent = await fetch(`${nodeUrl()}/api/channels/${channelId}/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ana.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ text }),
      })
      expect(sent.status).toBe(201)
    }
  }
  await expectShortDuring(attack)
})

test('other users do not wait while hostile frames come to the tRPC endpoint', async () => {
  const ana = await world().user('ana')
  const call = '{"id":1,"method":"subscription","params":{"path":"events.topic","input":{}}}'
  const frames = [
    `[${Array.from({ length: 12_000 }, () => call).join()}]`,
    `${'['.repeat(500_000)}${']'.repeat(500_000)}`,
    `[${'1,'.repeat(500_000)}1]`,
    `"${'x'.repeat(frameBytes - 2)}"`,
  ]
  const attack = async () => {
    for (let round = 0; round < 10; round++) {
      for (const frame of frames) {
        const socket = new WebSocket(`${nodeUrl().replace(/^http/, 'ws')}/trpc?connectionParams=1`)
        onTestFinished(() => socket.terminate())
        await once(socket, 'open')
        const closed = once(socket, 'close')
        socket.send(
          JSON.stringify({ method: 'connectionParams', data: { token: ana.minted.wsToken } }),
        )
        for (let count = 0; count < 3; count++) socket.send(frame)
        await closed
      }
    }
  }
  await expectShortDuring(attack)
})

test('other users do not wait while the largest answers are given', async () => {
  const ana = await world().user('ana')
  const { channelId } = await createTalk(world(), ana)
  const channels = await fillChannels(world(), 'ana')
  const headers = { authorization: `Bearer ${ana.token}`, 'content-type': 'application/json' }
  const list = { channelId, limit: 200 }
  const calls = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [at, list]))
  const names = Array.from({ length: 20 }, () => 'messages.list').join()
  const asks: [path: string, body?: object][] = [
    [`/api/channels/${channelId}/messages?limit=200`],
    ['/api/channels?limit=100'],
    ['/api/sync', { channels: { [channelId]: 0 } }],
    [
      '/api/sync',
      { channels: Object.fromEntries(channels.map((id) => [id, 0])), pages: channels.slice(0, 10) },
    ],
    [`/trpc/${names}?batch=1&input=${encodeURIComponent(JSON.stringify(calls))}`],
  ]
  const channel = topics.channel(world().appId, channelId)
  await fillEvents(world(), channelId)
  // Each time another one: a socket recovers no more than some megabytes at once.
  const overSockets = async () => {
    const socket = await connectLasting(ana)
    let asked = 1
    const askOver = async (command: object) => {
      const reply = JSON.stringify(await socket.ask({ id: ++asked, ...command }))
      expect(reply.length, reply.slice(0, 200)).toBeGreaterThan(900_000)
    }
    const { epoch } = (await socket.ask({ id: ++asked, history: { channel } })).history
    for (let round = 0; round < 10; round++) {
      await askOver({ history: { channel, limit: -1 } })
      await askOver({ subscribe: { channel, recover: true, offset: 0, epoch } })
      await socket.ask({ id: ++asked, unsubscribe: { channel } })
    }
  }
  const attack = () =>
    Promise.all([
      overSockets(),
      ...asks.map(async ([path, body]) => {
        for (let round = 0; round < 10; round++) {
          const answer = await fetch(`${nodeUrl()}${path}`, {
            headers,
            ...(body && { method: 'POST', body: JSON.stringify(body) }),
          })
          const text = await answer.text()
          expect(text.length, `${path} ${text.slice(0, 200)}`).toBeGreaterThan(200)
        }
      }),
    ])
  await expectShortDuring(attack)
})
