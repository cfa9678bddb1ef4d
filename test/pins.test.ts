import { expect, test } from 'vitest'
import { inBatches } from './support/batches.ts'
import { channelEventsOf } from './support/events.ts'
import { forbidden, invalid, notFound, refusal, refusals } from './support/refusal.ts'
import { rest } from './support/rest.ts'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

/** A channel of ana's with ben; cem is outside. */
const talk = async (type: 'group' | 'public' = 'group') => {
  const [ana, ben, cem] = await world().users('ana', 'ben', 'cem')
  const { id: channelId } = await ana.channels.create({ type, name: 'Talk', memberIds: ['ben'] })
  return {
    ana,
    ben,
    cem,
    channelId,
    send: async (text: string) => ({
      channelId,
      messageId: (await ana.messages.send({ channelId, text })).id,
    }),
  }
}

test('any member pins, and pins are listed with user and time, newest first', async () => {
  const { ana, ben, channelId, send } = await talk()
  const [first, second, third] = [await send('first'), await send('second'), await send('third')]
  await ana.reactions.add({ ...first, emoji: '👍' })
  expect(
    await rest(world(), ben)('POST', `/api/channels/${channelId}/messages/${first.messageId}/pin`),
  ).toEqual({ status: 200, body: { success: true } })
  await ana.pins.pin(third)
  await ana.pins.pin(second)
  const { messages } = await ben.pins.list({ channelId })
  expect(messages.map(({ text, pinnedBy, pinned }) => [text, pinnedBy, pinned])).toEqual([
    ['second', 'ana', true],
    ['third', 'ana', true],
    ['first', 'ben', true],
  ])
  const [newest, , oldest] = messages
  expect(Date.parse(newest?.pinnedAt ?? '')).toBeGreaterThanOrEqual(
    Date.parse(oldest?.pinnedAt ?? ''),
  )
  const { pinnedBy: _, pinnedAt: __, ...message } = oldest ?? {}
  expect(message).toEqual(await ben.messages.get(first))
})

test('pinning twice is the same as pinning once, also twenty times at once', async () => {
  const { ana, ben, channelId, send } = await talk()
  const ref = await send('once')
  await Promise.all(Array.from({ length: 20 }, (_, index) => (index % 2 ? ana : ben).pins.pin(ref)))
  const pinned = await ben.pins.list({ channelId })
  expect(pinned.messages).toHaveLength(1)
  const [{ pinnedBy, pinnedAt } = { pinnedBy: '', pinnedAt: '' }] = pinned.messages
  await ana.pins.pin(ref)
  expect(await ben.pins.list({ channelId })).toEqual(pinned)
  expect(
    (await channelEventsOf(world(), channelId)).filter(({ type }) => type === 'message.updated'),
  ).toMatchObject([{ payload: { message: { pinned: true }, pin: { pinnedBy, pinnedAt } } }])
})

test('any member unpins, and unpinning a message that is not pinned changes nothing', async () => {
  const { ana, ben, channelId, send } = await talk()
  const ref = await send('briefly')
  await ana.pins.pin(ref)
  const path = `/api/channels/${channelId}/messages/${ref.messageId}/pin`
  expect(await rest(world(), ben)('DELETE', path)).toEqual({ status: 200, body: { success: true } })
  const before = await channelEventsOf(world(), channelId)
  expect(before.at(-1)).toMatchObject({
    type: 'message.updated',
    payload: { message: { pinned: false } },
  })
  expect(await ben.pins.unpin(ref)).toEqual({ success: true })
  expect(await channelEventsOf(world(), channelId)).toEqual(before)
  expect((await ana.pins.list({ channelId })).messages).toEqual([])
})

test('a channel holds at most a hundred pins', async () => {
  const { ana, ben, channelId, send } = await talk()
  const texts = Array.from({ length: 101 }, (_, index) => `${index}`)
  const refs = await inBatches(texts, 20, (text) => send(text))
  const last = refs.pop()
  for (const ref of refs) await ana.pins.pin(ref)
  if (last) expect(await refusal(ben.pins.pin(last))).toEqual(invalid)
  expect(refs[0] && (await ben.pins.pin(refs[0]))).toEqual({ success: true })
  expect((await ana.pins.list({ channelId })).messages).toHaveLength(100)
  if (refs[0]) await ben.pins.unpin(refs[0])
  expect(last && (await ben.pins.pin(last))).toEqual({ success: true })
  expect((await ana.pins.list({ channelId })).messages).toHaveLength(100)
})

test('a deleted message is no longer pinned', async () => {
  const { ana, ben, channelId, send } = await talk()
  const ref = await send('gone')
  await ben.pins.pin(ref)
  await ana.messages.delete(ref)
  expect((await ben.pins.list({ channelId })).messages).toEqual([])
  for (const call of await refusals([ben.pins.pin(ref), ben.pins.unpin(ref)]))
    expect(call).toEqual(notFound)
})

test('only members pin, and users who may read the channel list its pins', async () => {
  const open = await talk('public')
  const closed = await talk()
  const ref = await open.send('public')
  const inside = await closed.send('inside')
  await open.ana.pins.pin(ref)
  expect((await open.cem.pins.list(open)).messages).toMatchObject([{ text: 'public' }])
  for (const call of await refusals([
    open.cem.pins.pin(ref),
    open.cem.pins.unpin(ref),
    open.cem.pins.list(closed),
    open.cem.pins.pin(inside),
  ]))
    expect(call).toEqual(forbidden)
  const strayed = { channelId: closed.channelId, messageId: ref.messageId }
  for (const call of await refusals([
    open.ana.pins.pin(strayed),
    open.ana.pins.unpin(strayed),
    open.ana.pins.pin({ ...ref, messageId: 'first' }),
  ]))
    expect(call).toEqual(notFound)
})
