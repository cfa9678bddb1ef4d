import { topics } from '@parley/contract'
import { expect, test } from 'vitest'
import { upTo } from '../../support/events.ts'
import { fillEvents } from '../../support/large-answers.ts'
import { RawSocket } from '../../support/socket.ts'
import { useWorld } from '../../support/world.ts'

const world = useWorld()

const ASKED = 40
/** 2,500 at once, of which a reply of a mebibyte takes 256, and what is earned meanwhile. */
const MOST = 25

test('long replies take as much of the credit as commands of their length', async () => {
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  await fillEvents(world(), channelId)
  const channel = topics.channel(world().appId, channelId)
  const raw = await RawSocket.connect(world(), ana)
  const ids = upTo(ASKED + 1, 2)
  raw.send(...ids.map((id) => ({ id, history: { channel, limit: -1 } })))
  const replies = []
  for (const id of ids) replies.push(await raw.reply(id))
  const full = replies.filter(({ history }) => history?.publications.length === 100)
  const refused = replies.filter(({ error }) => error?.code === 111)
  expect(full.length).toBeGreaterThanOrEqual(9)
  expect(full.length).toBeLessThan(MOST)
  expect(full.length + refused.length).toBe(ASKED)
  raw.terminate()
})
