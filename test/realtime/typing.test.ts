import { expect, onTestFinished, test } from 'vitest'
import { useTwinSockets } from '../support/twin/sockets.ts'
import { createWorld, useWorld } from '../support/world.ts'
import { createGroup, payloads, useListeners } from './listeners.ts'

/** Long enough that no one stops typing by themselves. */
const TYPING_MS = 600_000

const world = useWorld({ timings: { typingMs: TYPING_MS } })
useTwinSockets(world)
const { listenAs, channelTopic, newUsers } = useListeners(world)

test('typing stops by itself once, and a stop without a start emits no event', async () => {
  const [ana, ben] = await newUsers()
  const channelId = await createGroup(ana, ben)
  // Long enough for a busy machine to set typing twice within it.
  const node = await createWorld({
    timings: { typingMs: 3_000 },
    databaseUrl: world().databaseUrl,
  })
  onTestFinished(node.stop)
  const anas = await listenAs(ana, channelTopic(channelId), node)
  const { typing } = node.api({ token: ben.token })
  await typing.set({ channelId, typing: false })
  await Promise.all([typing.set({ channelId }), typing.set({ channelId })])
  await anas.untilType('typing.stop')
  await ana.messages.send({ channelId, text: 'done' })
  await anas.untilType('message.new')
  expect(anas.types).toEqual(['typing.start', 'typing.start', 'typing.stop', 'message.new'])
  expect(payloads(anas, 'typing.stop')).toEqual([
    { channelId, userId: ben.id, user: { id: ben.id, name: ben.id, image: null } },
  ])
})

test('typing can be stopped on another node', async () => {
  const [ana, ben] = await newUsers()
  const other = await createWorld({
    timings: { typingMs: TYPING_MS },
    databaseUrl: world().databaseUrl,
  })
  const channelId = await createGroup(ana, ben)
  const [here, there] = [
    await listenAs(ana, channelTopic(channelId)),
    await listenAs(ana, channelTopic(channelId), other),
  ]
  const elsewhere = other.api({ token: ben.token })
  await elsewhere.typing.set({ channelId })
  await Promise.all([here, there].map((each) => each.untilType('typing.start')))
  await ben.typing.set({ channelId, typing: false })
  await Promise.all([here, there].map((each) => each.untilType('typing.stop')))
  await other.stop()
})

test('only members set typing, also where others read', async () => {
  const [ana, ben] = await newUsers()
  const open = await ana.channels.create({ type: 'public', name: 'Open' })
  for (const channelId of [await createGroup(ana), open.id])
    await expect(ben.typing.set({ channelId })).rejects.toMatchObject({ code: 'FORBIDDEN' })
})
