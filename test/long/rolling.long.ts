import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { createApi } from '@parley/client/api'
import { topics } from '@parley/contract'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { createDataFolder } from '../support/folders.ts'
import { freePorts } from '../support/ports.ts'
import {
  isInstalled,
  type ProxyProgram,
  proxyPrograms,
  startProxy,
} from '../support/proxy-program.ts'
import { centrifugeOf, listen } from '../support/realtime.ts'
import { production, useChildren } from '../support/start.ts'
import { patient } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const directory = createDataFolder('rolling')
const world = useWorld()
const children = useChildren()
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** How many callers send one message after the other. */
const SENDERS = 6
/** The part of a node's log line that marks a send. */
const MESSAGE_SENT = /"operation":"messages.send"/

/** One that asks for the health, and nginx, which learns of a stop when the port is closed. */
const asking = (['haproxy', 'caddy'] as const).find(isInstalled)
const rolled = [...(asking ? [asking] : []), ...(isInstalled('nginx') ? ['nginx' as const] : [])]
for (const missing of proxyPrograms.filter((name) => !isInstalled(name)))
  console.log(`SKIPPED: ${missing} is not installed`)

async function openProxy(
  program: ProxyProgram,
  upstreams: { listen: number; servers: [number, number] },
) {
  const proxy = startProxy(program, { ...upstreams, folder: directory })
  onTestFinished(() => void proxy.kill('SIGKILL'))
  const url = `http://127.0.0.1:${upstreams.listen}`
  const isServing = async () => expect((await fetch(`${url}/health`)).status).toBe(200)
  await vi.waitFor(isServing, patient)
  return url
}

/**
 * nginx sends requests until a port is closed. Connections that wait to be accepted at that moment
 * are reset: nginx answers 502, and the sender repeats the message with the same `clientId`.
 */
const isRepeated = (program: ProxyProgram, answer: unknown) => program === 'nginx' && answer === 502

test.each(rolled)(
  `a rolling restart of two nodes behind a real proxy, %s, loses no message and no event`,
  async (program) => {
    const [listenPort = 0, ...ports] = await freePorts(3)
    const [onePort = 0, twoPort = 0] = ports
    const start = async (port: number) => {
      const node = children.start(
        {
          ...production,
          DATABASE_URL: world().databaseUrl,
          PORT: String(port),
          SHUTDOWN_DELAY_SECONDS: '8',
          LOG_SAMPLE: '1',
          RATE_LIMIT_MESSAGES: '0',
          RATE_LIMIT_REQUESTS: '0',
        },
        directory,
      )
      await node.address()
      return node
    }
    const nodes = [await start(onePort), await start(twoPort)]
    const url = await openProxy(program, { listen: listenPort, servers: [onePort, twoPort] })

    const { apiKey, id: appId } = await createApi({
      url,
      adminKey: production.ADMIN_API_KEY,
    }).apps.create({ name: 'Rolling' })
    const minted = await createApi({ url, apiKey }).tokens.create({ userId: 'ana' })
    const ana = createApi({ url, token: minted.token })
    const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Load' })
    const client = centrifugeOf({ url }, { minted })
    onTestFinished(() => client.disconnect())
    const listener = await listen(client, topics.channel(appId, channelId))

    let isOver = false
    let sent = 0
    const failures: string[] = []
    let repeated = 0
    const post = (clientId: string) =>
      fetch(`${url}/api/channels/${channelId}/messages`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${minted.token}`,
          'Content-Type': 'application/json',
        },
        body: JSON.stringify({ text: 'under way', clientId }),
      }).then(
        ({ status }) => status,
        (error) => String(error.cause ?? error),
      )
    const send = async () => {
      while (!isOver) {
        const clientId = randomUUID()
        let answer = await post(clientId)
        if (isRepeated(program, answer)) {
          repeated += 1
          answer = await post(clientId)
        }
        if (answer === 201) sent += 1
        else failures.push(String(answer))
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    const senders = Array.from({ length: SENDERS }, send)
    for (const [index, port] of [onePort, twoPort].entries()) {
      nodes[index]?.kill('SIGTERM')
      expect(await nodes[index]?.code).toBe(0)
      const restarted = await start(port)
      nodes[index] = restarted
      // The next one leaves once the proxy sends requests to this one again.
      await vi.waitFor(() => expect(restarted.output()).toMatch(MESSAGE_SENT), patient)
    }
    isOver = true
    await Promise.all(senders)
    expect(failures).toEqual([])
    // At most what waited when each of the two ports was closed.
    expect(repeated).toBeLessThanOrEqual(2 * SENDERS)
    const received = await listener.untilType('message.new', sent)
    const offsets = received.map(({ offset }) => offset)
    expect(new Set(offsets).size).toBe(offsets.length)
    console.log(`${program}: ${sent} messages during two restarts, none lost, ${repeated} repeated`)
  },
)

test.each(proxyPrograms.filter(isInstalled))(
  'calls, a WebSocket and streams pass %s with its file of ops',
  async (program) => {
    const port = Number(new URL(world().url).port)
    const [listenPort = 0] = await freePorts(1)
    const url = await openProxy(program, { listen: listenPort, servers: [port, port] })
    const [ana] = await world().users('ana')
    const { id: channelId } = await ana.channels.create({ type: 'group', name: program })
    const topic = topics.channel(world().appId, channelId)
    const clients = (['websocket', 'http_stream', 'sse'] as const).map((transport) =>
      centrifugeOf({ url }, ana, 'json', { transports: [transport] }),
    )
    onTestFinished(() => {
      for (const client of clients) client.disconnect()
    })
    const listeners = await Promise.all(clients.map((client) => listen(client, topic)))
    const throughProxy = createApi({ url, token: ana.token })
    await throughProxy.messages.send({ channelId, text: 'hello' })
    for (const listener of listeners) await listener.untilType('message.new')
  },
)
