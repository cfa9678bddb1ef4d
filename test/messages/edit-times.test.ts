import { expect, test } from 'vitest'
import { whileLocked } from '../support/locks.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

test('an edit that waited for its channel has the time after the wait', async () => {
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Waiting' })
  const { id: messageId } = await ana.messages.send({ channelId, text: 'one' })
  const { editing, waitedAt } = await whileLocked(world(), channelId, async (waiting) => {
    const editing = ana.messages.edit({ channelId, messageId, text: 'two' })
    await waiting(1)
    const [row] = await world().db<{ ms: number }[]>`
      select floor(extract(epoch from clock_timestamp()) * 1000)::float8 as ms`
    return { editing, waitedAt: row?.ms }
  })
  const { editedAt } = await editing
  expect(Date.parse(editedAt ?? '')).toBeGreaterThanOrEqual(waitedAt ?? Number.POSITIVE_INFINITY)
})
