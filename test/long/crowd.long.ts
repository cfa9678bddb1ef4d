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
/** With those of each reconciliation, which is every 5 s. */
const MOST_STATEMENTS = 100

const world = useWorld()
const { url, work } = useMeasuredNode(world)

test('a message to 5,000 members online takes few statements, and few frames each', async () => {
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Crowd' })
  const { appId, db } = world()
  const ids = await insertUsers(world(), 'fan', MEMBERS)
  await insertMembers(world(), channelId, ids)
  await db`update channels set member_count = ${MEMBERS + 1} where id = ${channelId}`
  let frames = 0
  const sockets = await inBatches(ids, 50, async (userId) => {
    const token = await world().sign('ws', { appId, userId, generation: 0, admin: false })
    const raw = await RawSocket.connect({ url: url() }, { minted: { wsToken: token } as never })
    const wanted = [topics.channel(appId, channelId), topics.user(appId, userId)]
    raw.send(...wanted.map((channel, index) => ({ id: index + 2, subscribe: { channel } })))
    await raw.reply(3)
    raw.socket.on('message', (data) => {
      if (String(data) === '{}') raw.send({})
      else frames += 1
    })
    return raw
  })
  const heard = (text: string) =>
    sockets.every(({ frames }) => frames.some((frame) => frame.includes(text)))
  const told = (count: number) =>
    heard(`"channel.total_unread_changed","payload":{"count":${count}}`)
  const send = (text: string) =>
    fetch(`${url()}/api/channels/${channelId}/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ana.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ text }),
    })
  // The first message loads all counts of everybody.
  await send('first')
  await until(() => heard('first') && told(1))
  await work()
  frames = 0
  const startedAt = performance.now()
  await send('second')
  await until(() => heard('second'))
  const heardMs = performance.now() - startedAt
  await until(() => told(2))
  const { statements, longestUseMs } = await work()
  console.log({ heardMs, longestUseMs, frames, statements: statements.length })
  expect(frames).toBeLessThanOrEqual(FRAMES_A_MEMBER * MEMBERS)
  expect(statements.length).toBeLessThanOrEqual(MOST_STATEMENTS)
  for (const { socket } of sockets) socket.terminate()
})
