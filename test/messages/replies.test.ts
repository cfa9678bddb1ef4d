import { describe, expect, test } from 'vitest'
import { channelEventsOf } from '../support/events.ts'
import { unknownId } from '../support/ids.ts'
import { forbidden, invalid, notFound, refusal, refusals } from '../support/refusal.ts'
import { useSharedWorld } from '../support/world.ts'
import { talkIn } from './fixture.ts'

const world = useSharedWorld()
const talk = talkIn(world)

describe('replies', () => {
  test('replies are counted on their root, and their event carries the count', async () => {
    const { ana, ben, channelId, say } = await talk()
    const root = await say('root')
    const reply = await ben.messages.send({ channelId, text: 'reply', parentId: root.id })
    expect(reply).toMatchObject({ parentId: root.id, seq: 2 })
    expect((await channelEventsOf(world(), channelId)).at(-1)).toMatchObject({
      type: 'message.new',
      offset: reply.rev,
      payload: { parent: { id: root.id, replyCount: 1 } },
    })
    expect(await ana.messages.get({ channelId, messageId: root.id })).toEqual({
      ...root,
      replyCount: 1,
      rev: reply.rev,
    })
    expect((await ana.messages.list({ channelId })).messages.map(({ id }) => id)).toEqual([
      root.id,
      reply.id,
    ])
  })

  test('a reply to a reply joins the thread of its root', async () => {
    const { ana, channelId, say } = await talk()
    const root = await say('root')
    const reply = await say('reply', { parentId: root.id })
    const deeper = await say('deeper', { parentId: reply.id })
    expect(deeper.parentId).toBe(root.id)
    expect((await ana.messages.replies({ channelId, messageId: root.id })).messages).toEqual([
      reply,
      deeper,
    ])
    expect(await ana.messages.get({ channelId, messageId: root.id })).toMatchObject({
      replyCount: 2,
    })
  })

  test('a reply requires a live message of the same channel', async () => {
    const { ana, channelId, say } = await talk()
    const other = await talk()
    const elsewhere = await other.say('elsewhere')
    const deleted = await say('deleted')
    await ana.messages.delete({ channelId, messageId: deleted.id })
    for (const parentId of [elsewhere.id, deleted.id, unknownId])
      expect(await refusal(say('x', { parentId }))).toEqual(notFound)
    expect((await ana.messages.list({ channelId })).maxSeq).toBe(1)
  })

  test('a thread outlives its root, and deleted replies are not counted', async () => {
    const { ana, channelId, say } = await talk()
    const root = await say('root')
    const one = await say('one', { parentId: root.id })
    const two = await say('two', { parentId: root.id })
    await ana.messages.delete({ channelId, messageId: one.id })
    expect((await channelEventsOf(world(), channelId)).at(-1)).toMatchObject({
      type: 'message.deleted',
      payload: { messageId: one.id, seq: 2, parent: { id: root.id, replyCount: 1 } },
    })
    // With the rev of the deletion, so that a sync brings it.
    const { rev } = await ana.channels.get({ channelId })
    expect(await ana.messages.get({ channelId, messageId: root.id })).toMatchObject({
      replyCount: 1,
      rev,
    })
    await ana.messages.delete({ channelId, messageId: root.id })
    const three = await say('three', { parentId: two.id })
    expect(three.parentId).toBe(root.id)
    expect((await ana.messages.replies({ channelId, messageId: root.id })).messages).toEqual([
      two,
      three,
    ])
  })

  test('replies are counted on a deleted root as well', async () => {
    const { ana, channelId, say } = await talk()
    const root = await say('root')
    const [first] = [
      await say('one', { parentId: root.id }),
      await say('two', { parentId: root.id }),
    ]
    await ana.messages.delete({ channelId, messageId: root.id })
    await ana.messages.delete({ channelId, messageId: first.id })
    const [tombstone] = (await ana.messages.list({ channelId, since_seq: 0 })).messages
    expect(tombstone).toMatchObject({ id: root.id, replyCount: 1 })
    expect((await channelEventsOf(world(), channelId)).at(-1)).toMatchObject({
      type: 'message.deleted',
      payload: { messageId: first.id, parent: { id: root.id, replyCount: 1 } },
    })
  })

  test('replies are listed in pages, in both directions', async () => {
    const { ana, cem, channelId, say } = await talk()
    const root = await say('root')
    const ids: string[] = []
    for (let index = 0; index < 5; index++) {
      ids.push((await say(`reply ${index}`, { parentId: root.id })).id)
      await say('aside')
    }
    const page = async (query: { limit?: number; before?: string; after?: string }) => {
      const { messages, hasMore } = await ana.messages.replies({
        channelId,
        messageId: root.id,
        ...query,
      })
      return [messages.map(({ id }) => ids.indexOf(id)), hasMore]
    }
    expect(await page({})).toEqual([[0, 1, 2, 3, 4], false])
    expect(await page({ limit: 2 })).toEqual([[3, 4], true])
    expect(await page({ limit: 3, before: ids[3] ?? '' })).toEqual([[0, 1, 2], false])
    expect(await page({ limit: 2, after: ids[0] ?? '' })).toEqual([[1, 2], true])
    expect(await page({ after: ids[4] ?? '' })).toEqual([[], false])
    const replies = (query: object) =>
      ana.messages.replies({ channelId, messageId: root.id, ...query })
    expect(
      await refusals([
        replies({ before: ids[0], after: ids[1] }),
        replies({ after: 'x' }),
        replies({ limit: 0 }),
      ]),
    ).toEqual([invalid, invalid, invalid])
    expect(
      await refusals([
        replies({ after: unknownId }),
        replies({ messageId: unknownId }),
        replies({ messageId: 'root' }),
      ]),
    ).toEqual([notFound, notFound, notFound])
    expect(await refusal(cem.messages.replies({ channelId, messageId: root.id }))).toEqual(
      forbidden,
    )
  })
})
