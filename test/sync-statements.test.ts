import { expect, test } from 'vitest'
import { quietTimings } from './support/quiet.ts'
import { onStatement, statementsOf, tripsOf } from './support/statements.ts'
import { useWorld } from './support/world.ts'

// One connection: what is prepared once stays prepared.
const world = useWorld({
  onStatement,
  poolSize: 1,
  presenceGraceSeconds: 1_000,
  timings: quietTimings,
})

test('a sync takes two round trips, and a statement for each part of all channels', async () => {
  const ana = await world().user('ana')
  const [ids, threads]: [string[], string[]] = [[], []]
  const pull = () =>
    ana.sync.pull({
      channels: Object.fromEntries(ids.map((id) => [id, 0])),
      ...{ pages: ids, roots: ids, pins: ids, members: ids, threads },
      ...{ userIds: ['ana'], total: true },
    })
  for (const name of ['One', 'Two']) {
    const { id: channelId } = await ana.channels.create({ type: 'group', name })
    const { id: parentId } = await ana.messages.send({ channelId, text: 'root' })
    await ana.messages.send({ channelId, text: 'reply', parentId })
    await ana.pins.pin({ channelId, messageId: parentId })
    ids.push(channelId)
    threads.push(parentId)
    await pull()
    const statements = await statementsOf(pull)
    expect(statements).toHaveLength(10)
    // The right to read the channels is checked after what is read of them.
    expect(statements.at(-1)).toContain('select c.id')
    expect(await tripsOf(pull)).toHaveLength(2)
  }
})
