import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { upTo } from '../support/events.ts'
import { unknownId } from '../support/ids.ts'
import { forbidden, notFound, refusal, refusals } from '../support/refusal.ts'
import { rest } from '../support/rest.ts'
import { ADMIN_KEY, useSharedWorld } from '../support/world.ts'
import { talkIn } from './fixture.ts'

const world = useSharedWorld()
const talk = talkIn(world)

describe('listing messages', () => {
  /** Ten messages, of which the third and the tenth were deleted. */
  const history = async () => {
    const { ana, cem, channelId, say } = await talk()
    const ids: string[] = []
    for (const seq of upTo(10)) ids.push((await say(`message ${seq}`)).id)
    const id = (seq: number) => ids[seq - 1] ?? ''
    for (const seq of [3, 10]) await ana.messages.delete({ channelId, messageId: id(seq) })
    const page = async (
      query: {
        limit?: number
        before?: string
        after?: string
        since_seq?: number
        replies?: true
      } = {},
    ) => {
      const { messages, maxSeq, hasMore } = await ana.messages.list({ channelId, ...query })
      expect(maxSeq).toBe(10)
      return [messages.map(({ seq }) => seq), hasMore]
    }
    return { ana, cem, channelId, id, page }
  }

  test('without a cursor the newest messages are listed, in ascending order', async () => {
    const { page } = await history()
    expect(await page()).toEqual([[1, 2, 4, 5, 6, 7, 8, 9], false])
    expect(await page({ limit: 3 })).toEqual([[7, 8, 9], true])
    expect(await page({ limit: 8 })).toEqual([[1, 2, 4, 5, 6, 7, 8, 9], false])
    expect(await page({ limit: 7 })).toEqual([[2, 4, 5, 6, 7, 8, 9], true])
  })

  test('every read shows a message as its send returned it, whatever is in it', async () => {
    const facts = { name: 'Da"n \\ 😀', image: 'https://example.com/"' }
    const dan = await world().user('d"a\\n', facts)
    const { id: channelId } = await dan.channels.create({ type: 'group', name: '"Soup" \\ bread' })
    const text = '"quoted" \\ next\nline\t\u0001\u007f\u2028 😀 {}'
    const image = { type: 'image', url: 'https://example.com/a.png', name: text } as const
    const sent = await dan.messages.send({
      channelId,
      text,
      clientId: 'one "',
      custom: { 'a "key"': [1.5, 1e21, null, { text }] },
      attachments: [image],
    })
    const read = async () => {
      const [page, channels] = await Promise.all([
        dan.messages.list({ channelId }),
        dan.channels.list({}),
      ])
      const own = channels.channels.find(({ id }) => id === channelId)
      expect(own).toMatchObject({ name: '"Soup" \\ bread', createdBy: 'd"a\\n' })
      const one = await dan.messages.get({ channelId, messageId: sent.id })
      return [...page.messages, one, own?.lastMessage]
    }
    expect(await read()).toEqual([sent, sent, sent])
    const edited = await dan.messages.edit({ channelId, messageId: sent.id, text: 'new' })
    expect(edited.updatedAt).toBe(edited.editedAt)
    expect(await read()).toEqual([edited, edited, edited])
  })

  test('a page goes back from a message, even a deleted one', async () => {
    const { page, id } = await history()
    expect(await page({ before: id(7), limit: 2 })).toEqual([[5, 6], true])
    expect(await page({ before: id(5), limit: 3 })).toEqual([[1, 2, 4], false])
    expect(await page({ before: id(3) })).toEqual([[1, 2], false])
    expect(await page({ before: id(10), limit: 1 })).toEqual([[9], true])
    expect(await page({ before: id(1) })).toEqual([[], false])
  })

  test('a page goes forward from a message, even a deleted one', async () => {
    const { page, id } = await history()
    expect(await page({ after: id(1), limit: 2 })).toEqual([[2, 4], true])
    expect(await page({ after: id(3), limit: 3 })).toEqual([[4, 5, 6], true])
    expect(await page({ after: id(7), limit: 2 })).toEqual([[8, 9], false])
    expect(await page({ after: id(9) })).toEqual([[], false])
    expect(await page({ after: id(10) })).toEqual([[], false])
  })

  test('since_seq lists everything after it, tombstones included', async () => {
    const { ana, channelId, page } = await history()
    expect(await page({ since_seq: 0 })).toEqual([upTo(10), false])
    expect(await page({ since_seq: 0, replies: true })).toEqual([upTo(10), false])
    expect(await page({ since_seq: 0, limit: 3 })).toEqual([[1, 2, 3], true])
    expect(await page({ since_seq: 7, limit: 3 })).toEqual([[8, 9, 10], false])
    expect(await page({ since_seq: 10 })).toEqual([[], false])
    expect(await page({ since_seq: 2_000_000_000 })).toEqual([[], false])
    const [tombstone] = (await ana.messages.list({ channelId, since_seq: 2, limit: 1 })).messages
    expect(tombstone).toMatchObject({
      seq: 3,
      text: '',
      mentions: [],
      attachments: [],
      reactions: [],
      pinned: false,
      deletedAt: expect.any(String),
      updatedAt: tombstone?.deletedAt,
    })
  })

  test('pages of any size cover the whole channel in both directions', async () => {
    const { ana, channelId, id } = await history()
    for (const limit of [1, 2, 3, 8, 200]) {
      const back: number[] = []
      for (let cursor: { before?: string } | undefined = {}; cursor; ) {
        const { messages, hasMore } = await ana.messages.list({ channelId, limit, ...cursor })
        back.unshift(...messages.map(({ seq }) => seq))
        cursor = hasMore ? { before: messages[0]?.id ?? '' } : undefined
      }
      const on = [1]
      for (let cursor: { after: string } | undefined = { after: id(1) }; cursor; ) {
        const { messages, hasMore } = await ana.messages.list({ channelId, limit, ...cursor })
        on.push(...messages.map(({ seq }) => seq))
        cursor = hasMore ? { after: messages.at(-1)?.id ?? '' } : undefined
      }
      expect([back, on]).toEqual([
        [1, 2, 4, 5, 6, 7, 8, 9],
        [1, 2, 4, 5, 6, 7, 8, 9],
      ])
    }
  })

  test('a page of messages holds 100 by default and at most 200', async () => {
    const { ana, channelId } = await talk()
    for (const size of [50, 50, 50, 50, 1])
      await ana.messages.sendBatch({
        channelId,
        messages: upTo(size).map((n) => ({ text: `${n}`, clientId: randomUUID() })),
      })
    const seqs = async (query: object) =>
      (await ana.messages.list({ channelId, ...query })).messages.map(({ seq }) => seq)
    expect(await seqs({})).toEqual(upTo(201).slice(101))
    expect(await seqs({ limit: 1_000 })).toEqual(upTo(201).slice(1))
    expect(await seqs({ limit: 1_000, since_seq: 0 })).toEqual(upTo(200))
  })

  test('the list of an empty channel is empty', async () => {
    const { ana, channelId } = await talk()
    for (const query of [{}, { since_seq: 0 }, { since_seq: 5 }])
      expect(await ana.messages.list({ channelId, ...query })).toEqual({
        messages: [],
        maxSeq: 0,
        hasMore: false,
      })
  })

  test('two cursors and malformed ones are refused with 400, unknown ones with 404', async () => {
    const { ana, channelId, id } = await history()
    const other = await talk()
    const elsewhere = await other.say('elsewhere')
    const list = async (query: string) =>
      (await rest(world(), ana)('GET', `/api/channels/${channelId}/messages?${query}`)).status
    for (const query of [
      `before=${id(1)}&after=${id(2)}`,
      `before=${id(1)}&since_seq=0`,
      `after=${id(1)}&since_seq=0`,
      'since_seq=0&replies=false',
      'before=first',
      'after=',
      `before=${id(1)}&before=${id(2)}`,
      'limit=0',
      'limit=-1',
      'limit=1.5',
      'limit=0x10',
      'limit=1e3',
      'limit=%2B1',
      'since_seq=-1',
      'since_seq=1.5',
      'since_seq=x',
      'since_seq=',
      'since_seq=99999999999',
    ])
      expect(`${await list(query)} ${query}`).toBe(`400 ${query}`)
    for (const query of [`before=${unknownId}`, `after=${unknownId}`, `before=${elsewhere.id}`])
      expect(await list(query)).toBe(404)
  })

  test('messages are listed to users who may read the channel', async () => {
    const { cem, channelId } = await history()
    const open = await talk('public')
    await open.say('for all')
    expect((await open.cem.messages.list(open)).messages).toMatchObject([{ text: 'for all' }])
    expect(await refusal(cem.messages.list({ channelId }))).toEqual(forbidden)
    expect(await refusal(cem.messages.list({ channelId: unknownId }))).toEqual(notFound)
  })
})

describe('messages of other channels and apps', () => {
  test('a message does not exist under the path of another channel', async () => {
    const here = await talk()
    const there = await talk()
    const ref = { channelId: there.channelId, messageId: (await here.say('here')).id }
    const { ana } = here
    const calls = [
      ana.messages.get(ref),
      ana.messages.edit({ ...ref, text: 'x' }),
      ana.messages.delete(ref),
      ana.messages.replies(ref),
      world().backend.messages.delete(ref),
    ]
    for (const call of await refusals(calls)) expect(call).toEqual(notFound)
    for (const messageId of [unknownId, 'first', '0'])
      expect(await refusal(ana.messages.get({ ...ref, messageId }))).toEqual(notFound)
  })

  test('the messages of a channel of another app are not found', async () => {
    const { channelId, say } = await talk('public')
    const { id: messageId } = await say('ours')
    const { apiKey } = await world().api({ adminKey: ADMIN_KEY }).apps.create({ name: 'Other' })
    const stranger = await world().user('ana', {}, world().api({ apiKey }))
    for (const [method, path, body] of [
      ['GET', '/messages', undefined],
      ['POST', '/messages', { text: 'x' }],
      ['GET', `/messages/${messageId}`, undefined],
      ['GET', `/messages/${messageId}/replies`, undefined],
      ['PATCH', `/messages/${messageId}`, { text: 'x' }],
      ['DELETE', `/messages/${messageId}`, undefined],
      ['POST', `/messages/${messageId}/reactions`, { emoji: '👍' }],
      ['DELETE', `/messages/${messageId}/reactions/x`, undefined],
      ['POST', `/messages/${messageId}/pin`, undefined],
      ['DELETE', `/messages/${messageId}/pin`, undefined],
      ['GET', '/pins', undefined],
      ['POST', '/read', { messageId }],
      ['PATCH', '/settings', { muted: true }],
    ] as const) {
      const call = (id: string) =>
        rest(world(), stranger)(method, `/api/channels/${id}${path}`, body)
      const unknown = await call(unknownId)
      expect(unknown).toEqual({
        status: 404,
        body: { error: { code: 'NOT_FOUND', message: 'Channel not found' } },
      })
      expect(await call(channelId)).toEqual(unknown)
    }
  })
})
