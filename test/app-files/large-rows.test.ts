import { expect, test } from 'vitest'
import { cloneDatabase } from '../support/clone-database.ts'
import { useWorld } from '../support/world.ts'
import { parleyOn, useFolder } from './command.ts'

const world = useWorld()
const folder = useFolder()

test('an app whose messages are long moves in batches that an import takes', async () => {
  const { users, appId, databaseUrl } = world()
  const [ana] = await users('ana')
  const channel = await ana?.channels.create({ type: 'group', name: 'Long' })
  const text = 'x'.repeat(10_000)
  for (let sent = 0; sent < 450; sent += 50) {
    const messages = Array.from({ length: 50 }, (_, at) => ({ text, clientId: `${sent + at}` }))
    await ana?.messages.sendBatch({ channelId: channel?.id ?? '', messages })
  }
  const file = folder.path('long')
  expect(await parleyOn(databaseUrl, 'app:export', appId, file)).toMatchObject({ code: 0 })
  const batches = folder.read('long').match(/"batch":\{"table":"messages","rows":\d+/g)
  const sizes = batches?.map((line) => Number(line.split(':').at(-1))) ?? []
  expect([sizes.length, sizes.reduce((sum, size) => sum + size, 0)]).toEqual([2, 450])
  const target = await cloneDatabase()
  try {
    const { code, output } = await parleyOn(target.url, 'app:import', file)
    expect(output).toMatch(/messages 450\b/)
    expect(code).toBe(0)
  } finally {
    await target.drop()
  }
})
