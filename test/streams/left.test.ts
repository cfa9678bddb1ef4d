import { selectUnstored } from '@parley/server/features/streams/store'
import { storeLeft } from '@parley/server/realtime/streams/left'
import { createTurns } from '@parley/server/realtime/turns'
import { expect, onTestFinished, test } from 'vitest'
import { upTo } from '../support/events.ts'
import { until } from '../support/until.ts'
import { createWorld } from '../support/world.ts'
import { never, useStreams } from './fixture.ts'

/** The node of these tests takes appends, and never stores them by itself. */
const timings = { streamStoreMs: never, reconcileMs: never, deltaMs: never }
const { world, users, newChannel } = useStreams({ timings })

test('an app whose node left many growing messages keeps those of no other waiting', async () => {
  const { api, appId, db, databaseUrl, operator } = world()
  const { bot } = users()
  const channelId = await newChannel()
  const begun = upTo(120).map(() => bot.messages.send({ channelId, text: '', streaming: true }))
  await Promise.all(begun)
  const { id: otherId, apiKey } = await operator.apps.create({ name: 'Other' })
  const other = api({ apiKey, userId: 'ana' })
  const { id } = await other.channels.create({ type: 'group', name: 'Talk' })
  const { id: last } = await other.messages.send({ channelId: id, text: '', streaming: true })
  // All were left long ago, so that the first look finds messages of both apps.
  await db`
    update message_streams
    set
      tail = 'grown', length = 5, characters = 5,
      stored_at = stored_at - interval '1 minute'`
  const found = async (resting: string[]) =>
    (await selectUnstored(db, { unstoredMs: 0, limit: 3, ofApp: 3, resting })).map(
      (ref) => ref.appId,
    )
  expect(await found([])).toEqual([appId, otherId, appId])
  expect(await found([appId])).toEqual([otherId])
  const node = await createWorld({
    databaseUrl,
    timings: { ...timings, streamStoreMs: 20, reconcileMs: 20, streamQuietMs: never },
  })
  onTestFinished(node.stop)
  const stored = () => db<{ id: string }[]>`
    select msg.id
    from messages msg
    where msg.text = 'grown'
    order by msg.updated_at`
  await until(async () => (await stored()).length === 121)
  const order = (await stored()).map(({ id }) => id)
  expect(order.indexOf(last)).toBeLessThan(10)
})

test('an app whose streamed text cannot be stored pauses, and other apps do not', async () => {
  const left = [...upTo(3).map((n) => `failing ${n}`), ...upTo(7).map((n) => `other ${n}`)]
  const tried: string[] = []
  const inTurn = createTurns(1)
  const appOf = (messageId: string) => messageId.split(' ', 1)[0] ?? ''
  await storeLeft({
    next: (resting) =>
      left
        .filter((messageId) => !resting.includes(appOf(messageId)))
        .slice(0, 3)
        .map((messageId) => ({ appId: appOf(messageId), channelId: 'c', messageId })),
    until: Number.POSITIVE_INFINITY,
    store: ({ appId, messageId }, isResting) =>
      inTurn(appId, async () => {
        if (isResting()) return false
        tried.push(messageId)
        if (tried.length > 20) throw new Error('one text is tried over and over')
        if (messageId === 'failing 2') return false
        left.splice(left.indexOf(messageId), 1)
        return true
      }),
  })
  const others = upTo(7).map((n) => `other ${n}`)
  expect(tried).toEqual(['failing 1', 'failing 2', ...others])
  expect(left).toEqual(['failing 2', 'failing 3'])
})

test('storing streams that were left ends at its time limit', async () => {
  let looks = 0
  const ref = { appId: 'busy', channelId: 'c', messageId: 'm' }
  const next = () => {
    looks += 1
    return [ref]
  }
  await storeLeft({ next, store: async () => true, until: performance.now() + 20 })
  expect(looks).toBeGreaterThan(0)
})
