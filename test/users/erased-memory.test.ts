import { topics } from '@parley/contract'
import { expect, onTestFinished, test } from 'vitest'
import { erased } from '../support/cleanup.ts'
import { useSockets } from '../support/socket.ts'
import { connectRaw } from '../support/stream.ts'
import { createWorld, useWorld, type World } from '../support/world.ts'

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
  const connected = (node: World) => terminatedLater(connectRaw(node, ben))
  const nodes = [world(), other]
  const followers = await Promise.all(nodes.map(connected))
  for (const raw of followers) await raw.ask({ id: 2, subscribe: { channel: topic } })
  const { id: messageId, rev } = await ben.messages.send({ channelId, text: 'hi' })
  await ana.reactions.add({ channelId, messageId, emoji: '👍' })
  await ana.reactions.remove({ channelId, messageId, emoji: '👍' })
  for (const raw of followers) await raw.pushed(({ pub }) => pub?.data.type === 'reaction.removed')
  const [{ epoch } = { epoch: '' }] = await world().db<{ epoch: string }[]>`
    select value as epoch
    from service
    where key = 'epoch'`
  const recover = { channel: topic, recover: true, epoch, offset: rev }
  const recovered = async (node: World) => {
    const raw = await connected(node)
    const { subscribe } = await raw.ask({ id: 2, subscribe: recover })
    expect(subscribe.recovered).toBe(true)
    return JSON.stringify(subscribe.publications)
  }
  for (const node of nodes) expect(await recovered(node)).toContain(NAME)
  await world().backend.users.delete({ userId: 'ana' })
  await erased(world())
  for (const node of nodes)
    await expect.poll(() => recovered(node), { timeout: 10_000 }).not.toContain(NAME)
})
