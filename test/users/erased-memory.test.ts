import { topics } from '@parley/contract'
import { expect, onTestFinished, test } from 'vitest'
import { erased } from '../support/cleanup.ts'
import { useSockets } from '../support/socket.ts'
import { connectRaw } from '../support/stream.ts'
import { createWorld, type User, useWorld, type World } from '../support/world.ts'

const world = useWorld()
const terminatedLater = useSockets()

const NAME = 'Quokka-77ab'

test('a client that reconnects gets no name of an erased user from any node', async () => {
  const other = await createWorld({ databaseUrl: world().databaseUrl })
  onTestFinished(() => other.stop())
  const ana = await world().user('ana', { name: NAME })
  const ben = await world().user('ben')
  const { id: channelId } = await ben.channels.create({
    ...{ type: 'group', name: 'Talk', memberIds: ['ana'] },
  })
  const topic = topics.channel(world().appId, channelId)
  const nodes = [world(), other]
  const { followers, recovered } = await follow(ben, { nodes, topic })
  const { id: messageId, rev } = await ben.messages.send({ channelId, text: 'hi' })
  await ana.reactions.add({ channelId, messageId, emoji: '👍' })
  await ana.reactions.remove({ channelId, messageId, emoji: '👍' })
  for (const raw of followers) await raw.pushed(({ pub }) => pub?.data.type === 'reaction.removed')
  for (const node of nodes) expect(await recovered(node, rev)).toContain(NAME)
  await world().backend.users.delete({ userId: 'ana' })
  await erased(world())
  for (const node of nodes)
    await expect.poll(() => recovered(node, rev), { timeout: 10_000 }).not.toContain(NAME)
})

test('a client that reconnects gets no name of a direct message that was purged', async () => {
  const other = await createWorld({ databaseUrl: world().databaseUrl })
  onTestFinished(() => other.stop())
  const cleo = await world().user('cleo', { name: NAME })
  const dan = await world().user('dan')
  const topic = topics.user(world().appId, 'dan')
  const nodes = [world(), other]
  const { followers, recovered } = await follow(dan, { nodes, topic })
  await dan.channels.create({ type: 'group', name: 'Before' })
  const { id } = await cleo.channels.create({ type: 'messaging', memberIds: ['dan'] })
  for (const raw of followers) await raw.pushed(({ pub }) => pub?.data.payload.channel?.id === id)
  for (const node of nodes) expect(await recovered(node, 1)).toContain(NAME)
  await cleo.channels.delete({ channelId: id })
  await world().cleanup.run()
  await expect
    .poll(
      () => world().db`
        select
        from channels
        where id = ${id}`,
    )
    .toEqual([])
  for (const node of nodes)
    await expect.poll(() => recovered(node, 1), { timeout: 10_000 }).not.toContain(NAME)
})

test('the next user of an id recovers no event of the deleted one', async () => {
  const eli = await world().user('eli')
  const fay = await world().user('fay')
  const channel = topics.user(world().appId, 'eli')
  const { followers } = await follow(eli, { nodes: [world()], topic: channel })
  await fay.channels.create({ type: 'group', name: 'Secret plans', memberIds: ['eli'] })
  for (const raw of followers) await raw.pushed(({ pub }) => pub?.data.type === 'channel.added')
  await world().backend.users.delete({ userId: 'eli' })
  const next = await terminatedLater(connectRaw(world(), await world().user('eli')))
  const recover = { channel, recover: true, epoch: await currentEpoch(), offset: 0 }
  const { subscribe } = await next.ask({ id: 2, subscribe: recover })
  expect(subscribe.publications).toBeUndefined()
  expect(subscribe.recovered).toBeUndefined()
})

type Followed = { nodes: World[]; topic: string }

/** Keeps a topic in the memory of nodes, and asks one for what comes after an offset of it. */
async function follow(user: User, { nodes, topic }: Followed) {
  const connected = (node: World) => terminatedLater(connectRaw(node, user))
  const followers = await Promise.all(nodes.map(connected))
  for (const raw of followers) await raw.ask({ id: 2, subscribe: { channel: topic } })
  const epoch = await currentEpoch()
  const recovered = async (node: World, offset: number) => {
    const raw = await connected(node)
    const recover = { channel: topic, recover: true, epoch, offset }
    const { subscribe } = await raw.ask({ id: 2, subscribe: recover })
    expect(subscribe.recovered).toBe(true)
    return JSON.stringify(subscribe.publications)
  }
  return { followers, recovered }
}

async function currentEpoch() {
  const [row] = await world().db<{ epoch: string }[]>`
    select value as epoch
    from service
    where key = 'epoch'`
  return row?.epoch ?? ''
}
