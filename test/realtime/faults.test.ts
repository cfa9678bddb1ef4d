import { expect, onTestFinished, test, vi } from 'vitest'
import { whileRowLocked } from '../support/locks.ts'
import { openProxy } from '../support/proxy.ts'
import { listen } from '../support/realtime.ts'
import { RawSocket } from '../support/socket.ts'
import { RawStream } from '../support/stream.ts'
import { until } from '../support/until.ts'
import { createWorld, useWorld } from '../support/world.ts'
import { counts, createGroup, payloads, presenceOf, useListeners } from './listeners.ts'

const world = useWorld({
  presenceGraceSeconds: 0,
  timings: { typingMs: 300, beatMs: 300, reconcileMs: 300, steadyMs: 0 },
})
const { connect, listenAs, channelTopic, userTopic, newUsers } = useListeners(world)

test('typing stops by itself on every node when the node of the typist has died', async () => {
  const [ana, ben] = await newUsers()
  const channelId = await createGroup(ana, ben)
  // It does not send the stop while the test runs.
  const silent = await createWorld({
    timings: { typingMs: 60_000 },
    databaseUrl: world().databaseUrl,
  })
  onTestFinished(silent.stop)
  const anas = await listenAs(ana, channelTopic(channelId))
  await silent.api({ token: ben.token }).typing.set({ channelId })
  await anas.untilType('typing.stop')
  expect(anas.types).toEqual(['typing.start', 'typing.stop'])
  expect(payloads(anas, 'typing.stop')).toEqual(payloads(anas, 'typing.start'))
})

for (const [name, isWritten] of [
  ['was not written', false],
  ['was written without an answer', true],
] as const) {
  test(`co-members learn of a departure that ${name}`, async () => {
    const [ana, ben] = await newUsers()
    await createGroup(ana, ben)
    const anas = await listenAs(ana, userTopic(ana))
    const bens = connect(ben)
    await bens.ready()
    await anas.until(() => presenceOf(anas, ben.id).length === 1)
    const { appId } = world()
    await whileRowLocked(
      world(),
      (sql) => sql`lock table connections in access exclusive mode`,
      async (sql) => {
        bens.disconnect()
        await until(async () => (await terminateWriters()).length > 0)
        const row = sql`app_id = ${appId} and user_id = ${ben.id}`
        if (isWritten) await sql`delete from connections where ${row}`
      },
    )
    await anas.untilType('presence.offline')
    expect(presenceOf(anas, ben.id)).toEqual(['presence.online', 'presence.offline'])
  })
}

/** Ends the connections that wait to write who is connected. */
const terminateWriters = () => world().db`
  select pg_terminate_backend(pid)
  from pg_stat_activity
  where datname = current_database()
    and wait_event_type = 'Lock'
    and query like '%insert into connections%'`

test('unread counts are sent and sockets stay open when the clock is set back', async () => {
  const [ana, ben] = await newUsers()
  const channelId = await createGroup(ana, ben)
  const client = connect(ben)
  const closed = vi.fn()
  client.on('connecting', closed)
  await client.ready()
  closed.mockClear()
  const bens = await listen(client, userTopic(ben))
  await ana.messages.send({ channelId, text: 'before' })
  await bens.until(() => counts(bens, 'channel.unread_changed').includes(1))
  const { now } = Date
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() - 3_600_000)
  onTestFinished(() => clock.mockRestore())
  await ana.messages.send({ channelId, text: 'after' })
  await bens.until(() => counts(bens, 'channel.unread_changed').includes(2))
  await listen(client, channelTopic(channelId))
  expect(closed).not.toHaveBeenCalled()
})

test('a node that has lost its database sends its clients away, and refuses new ones', async () => {
  const [ana, ben] = await newUsers()
  const proxy = await openProxy(world().databaseUrl)
  const outageMs = 2_000
  const node = await createWorld({
    databaseUrl: proxy.databaseUrl,
    // Nothing but the outage closes these sockets, however long the test takes.
    timings: { beatMs: 100, reconcileMs: 100, outageMs, connectMs: 600_000, pingMs: 600_000 },
  })
  onTestFinished(async () => {
    await node.stop()
    proxy.close()
  })
  // The outage has a line already.
  const errorLine = vi.spyOn(node.app.log, 'error')
  const health = async () => (await fetch(`${node.url}/health`)).status
  const anas = await RawSocket.connect(node, ana)
  const streams = await Promise.all([
    RawStream.connect(node, ben),
    RawStream.connect(node, ben, { transport: 'sse' }),
  ])
  const bens = await RawSocket.connect(node, ben)
  const sockets = [anas, bens, await RawSocket.open(node), ...streams]
  // A short outage closes none of them.
  proxy.cut()
  await until(async () => (await health()) === 200)
  const backAt = performance.now()
  await untilWorked((await anas.reply(1)).connect.node)
  proxy.redirect('postgres://127.0.0.1:1')
  proxy.cut()
  for (const { closed } of sockets) expect(await closed).toEqual({ code: 3001, reason: 'shutdown' })
  expect(performance.now() - backAt).toBeGreaterThanOrEqual(outageMs)
  expect(errorLine).not.toHaveBeenCalled()
  await expect(RawSocket.connect(node, ana)).rejects.toThrow('answered 503')
  const connect = JSON.stringify({ id: 1, connect: { token: ana.minted.wsToken } })
  for (const transport of ['http_stream', 'sse'] as const)
    await expect(new RawStream(node, connect, { transport }).closed).rejects.toThrow('answered 503')
  expect(await health()).toBe(503)
  proxy.redirect(world().databaseUrl)
  await until(async () => (await health()) === 200)
  const back = await RawSocket.connect(node, ana)
  expect(await back.reply(1)).toMatchObject({ connect: expect.anything() })
  back.socket.terminate()
})

test('clients that came back after an outage are not sent away again', async () => {
  const [ana, ben] = await newUsers()
  const proxy = await openProxy(world().databaseUrl)
  const shutdownMs = 2_000
  const node = await createWorld({
    databaseUrl: proxy.databaseUrl,
    timings: { beatMs: 100, reconcileMs: 100, outageMs: 500, shutdownMs, pingMs: 600_000 },
  })
  onTestFinished(async () => {
    await node.stop()
    proxy.close()
  })
  // One of two sessions is closed at once, and the other one after half of the time.
  const sockets = [await RawSocket.connect(node, ana), await RawSocket.connect(node, ben)]
  for (const socket of sockets) await socket.reply(1)
  proxy.redirect('postgres://127.0.0.1:1')
  proxy.cut()
  await Promise.race(sockets.map(({ closed }) => closed))
  const closedAt = performance.now()
  proxy.redirect(world().databaseUrl)
  await until(async () => (await fetch(`${node.url}/health`)).status === 200)
  const back = await RawSocket.connect(node, ana)
  await back.reply(1)
  let isClosed = false
  void back.closed.then(() => (isClosed = true))
  await until(() => performance.now() - closedAt > shutdownMs)
  // An answer comes after what was sent before it.
  await fetch(`${node.url}/health`)
  expect(isClosed).toBe(false)
  for (const { socket } of [...sockets, back]) socket.terminate()
})

/**
 * Resolves once regular work of a node with its database has succeeded from its beginning: two
 * kinds of it write heartbeats, so the third one is of work that began after another had ended.
 */
async function untilWorked(nodeId: string) {
  const beatAt = async () => {
    const [row] = await world().db<{ beatAt: string }[]>`
      select beat_at::text
      from nodes
      where id = ${nodeId}`
    return row?.beatAt
  }
  for (let beats = 0; beats < 3; beats++) {
    const before = await beatAt()
    await until(async () => (await beatAt()) !== before)
  }
}
