import { topics } from '@parley/contract'
import { createTokens } from '@parley/server/core/signed-tokens'
import { createRateWindows } from '@parley/server/http/rate-windows'
import { expect, test } from 'vitest'
import { upTo } from './support/events.ts'
import { heapInUse, leastGrowth } from './support/heap.ts'
import { post } from './support/raw.ts'
import { RawSocket, useSockets } from './support/socket.ts'
import { SECRET, useSharedWorld } from './support/world.ts'

const world = useSharedWorld()
const terminatedLater = useSockets()
/** The length of the rest of a header or URL, beside the part that is cut out. */
const REST = 12_000
const KEPT = 100
/** More than half of the rest: an event itself takes up to 6 KB. */
const BOUND = 9_000

const cutOut = (text: string) => `${text}${' '.repeat(REST)}`.slice(0, text.length)

/** Expects that each of these keeps little in memory, and surely not what it was cut out of. */
async function expectLittleKept(keep: () => Promise<unknown>) {
  const kept: unknown[] = []
  const growth = await leastGrowth(BOUND, async () => {
    const before = heapInUse()
    kept.push(await keep())
    return (heapInUse() - before) / KEPT
  })
  expect(growth).toBeLessThan(BOUND)
}

test('a verified token keeps no header in memory', async () => {
  const tokens = await createTokens([SECRET])
  const claims = { appId: world().appId, generation: 0, isAdmin: false }
  await expectLittleKept(async () => {
    for (const n of upTo(KEPT)) {
      const token = await tokens.sign('api', { ...claims, userId: `ana-${n}` })
      expect(await tokens.verify('api', cutOut(token))).toMatchObject({ userId: `ana-${n}` })
    }
  })
})

test('an address whose calls are counted keeps no header in memory', async () => {
  await expectLittleKept(async () => {
    const windowOf = createRateWindows(60)
    for (const n of upTo(KEPT)) windowOf(cutOut(`203.0.113.${100 + n}`))
    return windowOf
  })
})

test('an event of a message keeps nothing of the URL in memory', async () => {
  const ana = await world().user('ana')
  const headers = {
    Authorization: `Bearer ${ana.token}`,
    'Content-Type': 'application/json',
  }
  await expectLittleKept(async () => {
    const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
    const channel = topics.channel(world().appId, channelId)
    const socket = await terminatedLater(RawSocket.connect(world(), ana))
    await socket.ask({ id: 2, subscribe: { channel } })
    const { id } = await ana.messages.send({ channelId, text: 'first' })
    const path = `/api/channels/${channelId}/messages/${id}?${'x'.repeat(REST)}`
    for (const n of upTo(KEPT)) {
      const body = JSON.stringify({ text: `edit ${n}` })
      const { status } = await post(world().url, path, { method: 'PATCH', headers, body })
      expect(status).toBe(200)
    }
  })
})
