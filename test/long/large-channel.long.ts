import { topics } from '@parley/contract'
import { expect, test } from 'vitest'
import { inBatches } from '../support/batches.ts'
import { insertMembers, insertUsers } from '../support/inserted.ts'
import { RawSocket } from '../support/socket.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'
import { useMeasuredNode } from './measured-node.ts'

const MEMBERS = 5_000
/** The message, the unread count of its channel and the total; a count may be repeated. */
const FRAMES_A_MEMBER = 4
/** Includes the statements of each reconciliation, which runs every 5 s. */
const MOST_STATEMENTS = 100
/**
 * The limit for the longest use of a connection: two statements of 50 ms each, since it may wait
 * for a connection and for the node; or as many times the control, which takes 5 ms where nothing
 * else runs. `large-channel-statements` measures each statement alone.
 */
const MOST_MS = 100
const MOST_CONTROLS = 20
/** The best round counts: a short load on the machine slows down one round, and not all. */
const ROUNDS = 4

const world = useWorld()
const { url, work } = useMeasuredNode(world)

test('a message to 5,000 members online takes few statements, and few frames each', async () => {
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Large' })
  const { appId, db } = world()
  const ids = await insertUsers(world(), 'fan', MEMBERS)
  await insertMembers(world(), channelId, ids)
  await db`
    update channels
    set member_count = ${MEMBERS + 1}
    where id = ${channelId}`
  let frames = 0
  const closed: unknown[] = []
  const sockets = await inBatches(ids, 50, async (userId) => {
    const token = await world().sign('ws', { appId, userId, generation: 0, isAdmin: false })
    const raw = await RawSocket.connect({ url: url() }, { minted: { wsToken: token } as never })
    const wanted = [topics.channel(appId, channelId), topics.user(appId, userId)]
    raw.send(...wanted.map((channel, index) => ({ id: index + 2, subscribe: { channel } })))
    const replies = await Promise.all([raw.reply(2), raw.reply(3)])
    expect(replies).toMatchObject([{ subscribe: {} }, { subscribe: {} }])
    void raw.closed.then((reason) => closed.push(reason))
    raw.socket.on('message', (data) => {
      if (String(data) === '{}') raw.send({})
      else frames += 1
    })
    return raw
  })
  const hasEach = (text: string) => {
    expect(closed).toEqual([])
    return sockets.every(({ frames }) => frames.some((frame) => frame.includes(text)))
  }
  const hasTotal = (count: number) =>
    hasEach(`"channel.total_unread_changed","payload":{"count":${count},`)
  const send = async (text: string) => {
    const { status } = await fetch(`${url()}/api/channels/${channelId}/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ana.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ text }),
    })
    expect(status).toBe(201)
  }
  // The first message loads all counts of all members.
  await send('first')
  await until(() => hasEach('first'))
  await until(() => hasTotal(1))
  await work()
  const rounds: { frames: number; statements: number; timesOfLimit: number }[] = []
  for (let sent = 2; sent < 2 + ROUNDS; sent++) {
    frames = 0
    await send(`message ${sent}`)
    await until(() => hasEach(`message ${sent}`) && hasTotal(sent))
    const { statements, longestUseMs, controlMs } = await work()
    const mostMs = Math.max(MOST_MS, MOST_CONTROLS * controlMs)
    rounds.push({ frames, statements: statements.length, timesOfLimit: longestUseMs / mostMs })
    console.log({ longestUseMs, controlMs })
  }
  console.table(rounds)
  expect(rounds[0]?.frames).toBeLessThanOrEqual(FRAMES_A_MEMBER * MEMBERS)
  expect(rounds[0]?.statements).toBeLessThanOrEqual(MOST_STATEMENTS)
  expect(Math.min(...rounds.map(({ timesOfLimit }) => timesOfLimit))).toBeLessThan(1)
  for (const { socket } of sockets) socket.terminate()
})
