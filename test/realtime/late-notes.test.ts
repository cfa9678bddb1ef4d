import { expect, onTestFinished, test } from 'vitest'
import { openProxy } from '../support/proxy.ts'
import { RawSocket, useSockets } from '../support/socket.ts'
import { createWorld, useWorld } from '../support/world.ts'

// Comparisons with the database do not come: a node knows only what notes say.
const timings = { reconcileMs: 1_000_000, pingMs: 1_000_000, brokerSilenceMs: 1_000_000 }
const world = useWorld({ timings })
const terminatedLater = useSockets()

test.each([
  ['revocation', (userId: string) => world().backend.tokens.revoke({ userId })],
  ['deletion', (userId: string) => world().backend.users.delete({ userId })],
])('a note of a %s that arrives late closes no socket with a newer token', async (what, end) => {
  const proxy = await openProxy(world().databaseUrl)
  const node = await createWorld({
    databaseUrl: world().databaseUrl,
    brokerUrl: proxy.databaseUrl,
    timings,
  })
  onTestFinished(async () => {
    await node.stop()
    proxy.close()
  })
  const ben = await world().user(`ben-${what}`)
  const before = await terminatedLater(RawSocket.connect(node, ben))
  const release = proxy.hold()
  await end(ben.id)
  const { wsToken } = await world().backend.tokens.create({ userId: ben.id })
  const after = await terminatedLater(RawSocket.open(node))
  expect((await after.ask({ id: 1, connect: { token: wsToken } })).connect).toBeDefined()
  release()
  expect((await before.closed).code).toBe(3503)
  const subscribe = { channel: `user:${world().appId}:${ben.id}` }
  expect((await after.ask({ id: 2, subscribe })).subscribe).toBeDefined()
})
