import { describe, expect, test } from 'vitest'
import { channelEventsOf, upTo } from './support/events.ts'
import { withoutCleanup } from './support/locks.ts'
import {
  complaint,
  forbidden,
  invalid,
  notFound,
  refusal,
  refusals,
  unauthorized,
} from './support/refusal.ts'
import { rest } from './support/rest.ts'
import { workedMs } from './support/worked.ts'
import { ADMIN_KEY, useWorld } from './support/world.ts'

const world = useWorld()
const strict = useWorld({ rateLimits: { tokens: 0, messages: 3, requests: 0 } })
const unknownId = '019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c81'

/** A channel of ana's with ben; cem is outside. */
const talk = async (type: 'group' | 'public' | 'livestream' | 'private' = 'group') => {
  const ana = await world().user('ana', { name: 'Ana', image: 'https://example.com/ana.png' })
  const [ben, cem] = await world().users('ben', 'cem')
  const { id: channelId } = await ana.channels.create({ type, name: 'Talk', memberIds: ['ben'] })
  const say = (text: string, more: { parentId?: string; clientId?: string } = {}) =>
    ana.messages.send({ channelId, text, ...more })
  return { ana, ben, cem, channelId, say }
}
const age = (messageId: string, by: string) =>
  world()
    .db`update messages set created_at = clock_timestamp() - ${by}::interval where id = ${messageId}`

describe('sending', () => {
  test('answers with the whole message, and everybody reads the same', async () => {
    const { ana, ben, channelId } = await talk()
    const attachments = [
      { type: 'image', url: 'https://example.com/cat.png', name: 'cat.png' },
      { type: 'sticker', url: 'http://example.com/s' },
    ]
    const { status, body } = await rest(world(), ana)(
      'POST',
      `/api/channels/${channelId}/messages`,
      { text: 'hi @ben', attachments, clientId: 'out-1' },
    )
    expect(status).toBe(201)
    // biome-ignore format: the fields of a message
    expect(body).toMatchObject({
      channelId, userId: 'ana', text: 'hi @ben', seq: 1, rev: 3, user: { id: 'ana', name: 'Ana', image: 'https://example.com/ana.png' }, reactions: [], mentions: ['ben'], attachments,
      parentId: null, replyCount: 0, pinned: false, clientId: 'out-1', editedAt: null, deletedAt: null,
    })
    expect(body).not.toHaveProperty('linkPreviews')
    expect(await ben.messages.get({ channelId, messageId: body.id })).toEqual(body)
    expect((await ben.messages.list({ channelId })).messages).toEqual([body])
    expect((await ben.channels.get({ channelId })).lastMessage).toEqual(body)
    expect((await channelEventsOf(world(), channelId)).at(-1)).toMatchObject({
      offset: 3,
      type: 'message.new',
      payload: { channelId, message: body },
    })
  })

  test('takes 1 to 10,000 characters, an emoji being one', async () => {
    const { say } = await talk()
    for (const text of [
      'x',
      ' ',
      '🦄'.repeat(10_000),
      'é'.repeat(10_000),
      '\n\t"\\\u2028\u0001',
    ] as const)
      expect((await say(text)).text).toBe(text)
    for (const text of ['', '🦄'.repeat(10_001), 'x'.repeat(10_001), 'nul \u0000'])
      expect(await refusal(say(text))).toEqual(invalid)
    expect(await complaint(say('x'.repeat(10_001)))).toContain('text')
  })

  test('takes no text when something is attached, and at most thirty attachments', async () => {
    const { ana, channelId } = await talk()
    const image = { type: 'image', url: 'https://example.com/cat.png' }
    expect(await ana.messages.send({ channelId, text: '', attachments: [image] })).toMatchObject({
      text: '',
      attachments: [image],
      mentions: [],
    })
    expect(
      (
        await ana.messages.send({
          channelId,
          text: '',
          attachments: Array.from({ length: 30 }, () => image),
        })
      ).attachments,
    ).toHaveLength(30)
    expect(
      await refusal(
        ana.messages.send({
          channelId,
          text: 'x',
          attachments: Array.from({ length: 31 }, () => image),
        }),
      ),
    ).toEqual(invalid)
  })

  // biome-ignore format: a table
  test.each([
    {}, { text: null }, { text: 7 }, { text: ['x'] }, { text: 'x', attachments: {} }, { text: 'x', attachments: [{ type: 'image' }] }, { text: 'x', attachments: [{ type: '', url: 'https://example.com' }] },
    { text: 'x', attachments: [{ type: 'image', url: 'javascript:alert(1)' }] }, { text: 'x', attachments: [{ type: 'x'.repeat(33), url: 'https://example.com' }] },
    { text: 'x', attachments: [{ type: 'image', url: `https://example.com/${'x'.repeat(2_048)}` }] }, { text: 'x', attachments: [{ type: 'image', url: 'https://example.com', name: 'x'.repeat(256) }] },
    { text: 'x', parentId: 'first' }, { text: 'x', clientId: '' }, { text: 'x', clientId: 'x'.repeat(129) },
  ])('refuses %j', async (body) => {
    const { ana, channelId } = await talk()
    expect(await rest(world(), ana)('POST', `/api/channels/${channelId}/messages`, body)).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } })
  })

  test('is for members; in an open channel the first message makes its author one', async () => {
    for (const type of ['group', 'private'] as const) {
      const { cem, channelId } = await talk(type)
      expect(await refusal(cem.messages.send({ channelId, text: 'let me in' }))).toEqual(forbidden)
    }
    for (const type of ['public', 'livestream'] as const) {
      const { cem, channelId, say } = await talk(type)
      await say('before')
      expect(await cem.messages.send({ channelId, text: 'hello' })).toMatchObject({
        seq: 2,
        rev: 5,
      })
      expect(await cem.channels.get({ channelId })).toMatchObject({
        role: 'member',
        memberCount: 3,
        unreadCount: 0,
        lastReadSeq: 0,
      })
      expect((await channelEventsOf(world(), channelId)).slice(-2).map(({ type }) => type)).toEqual(
        ['channel.member_joined', 'message.new'],
      )
    }
  })

  test('a refused first message joins nothing', async () => {
    const { cem, channelId } = await talk('public')
    expect(await refusal(cem.messages.send({ channelId, text: 'x', parentId: unknownId }))).toEqual(
      notFound,
    )
    expect(await cem.channels.get({ channelId })).toMatchObject({ role: null, memberCount: 2 })
  })
})

describe('a client id', () => {
  test('gives the original message to a repeat, whatever became of it', async () => {
    const { ana, ben, channelId, say } = await talk()
    const first = await say('hi', { clientId: 'a' })
    await ben.reactions.add({ channelId, messageId: first.id, emoji: '👍' })
    expect(
      await rest(world(), ana)('POST', `/api/channels/${channelId}/messages`, {
        text: 'other',
        clientId: 'a',
      }),
    ).toMatchObject({
      status: 201,
      body: { id: first.id, text: 'hi', reactions: [{ type: '👍', own: false }] },
    })
    await ana.messages.edit({ channelId, messageId: first.id, text: 'edited' })
    expect(await say('hi', { clientId: 'a' })).toMatchObject({
      id: first.id,
      seq: 1,
      text: 'edited',
    })
    await ana.messages.delete({ channelId, messageId: first.id })
    expect(await say('hi', { clientId: 'a' })).toMatchObject({
      id: first.id,
      text: '',
      deletedAt: expect.any(String),
    })
    expect((await ana.messages.list({ channelId })).maxSeq).toBe(1)
  })

  test('makes one message of twenty sends at once', async () => {
    const { ana, channelId, say } = await talk()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => say(`try ${index}`, { clientId: 'same' })),
    )
    expect(new Set(answers.map(({ id, text }) => `${id} ${text}`)).size).toBe(1)
    expect((await ana.messages.list({ channelId })).messages).toEqual([answers[0]])
    expect(await channelEventsOf(world(), channelId)).toHaveLength(3)
  })

  test("is one's own, and of one channel", async () => {
    const { ana, ben, channelId, say } = await talk()
    const other = await talk()
    const sent = [
      await say('one', { clientId: 'k' }),
      await ben.messages.send({ channelId, text: 'two', clientId: 'k' }),
      await ana.messages.send({ channelId: other.channelId, text: 'three', clientId: 'k' }),
    ]
    expect(sent.map(({ text }) => text)).toEqual(['one', 'two', 'three'])
  })

  test('shows nothing to an author who was removed', async () => {
    const { ana, ben, channelId } = await talk()
    const send = () => ben.messages.send({ channelId, text: 'hi', clientId: 'gone' })
    await send()
    await ana.members.remove({ channelId, userId: 'ben' })
    expect(await refusal(send())).toEqual(forbidden)
  })
})

test('over the limit, a repeat is answered as below it: to an author who may still read', async () => {
  const [ana, ben] = await strict().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Hasty',
    memberIds: ['ben'],
  })
  const send = (clientId: string) => ben.messages.send({ channelId, text: clientId, clientId })
  const sent = await send('a')
  for (const clientId of ['b', 'c']) await send(clientId)
  expect(await refusal(send('d'))).toEqual({ status: 429, code: 'RATE_LIMITED' })
  expect(await send('a')).toEqual(sent)
  await ana.members.remove({ channelId, userId: 'ben' })
  expect(await refusal(send('a'))).toEqual(forbidden)
  await withoutCleanup(strict(), async () => {
    await ana.channels.delete({ channelId })
    expect(await refusal(send('a'))).toEqual(notFound)
  })
})

describe('mentions', () => {
  // biome-ignore format: a table
  test.each<[string, string[]]>([
    ['@ben', ['ben']], ['hi @ben!', ['ben']], ['@mary-jane and @o_b.c', ['mary-jane', 'o_b.c']], ['@ben. @cem- @dora...', ['ben', 'cem', 'dora']],
    ['@ben @cem @ben', ['ben', 'cem']], ['@nobody-knows', ['nobody-knows']], ['(@ben)[@cem]{@dora}"@eva"', ['ben', 'cem', 'dora', 'eva']], ['@ben,@cem/@dora', ['ben', 'cem', 'dora']],
    ['mail ana@example.com', []], ['ana.b@example.com, @ben', ['ben']], ['a_@b', []], ['é@ben', []], ['@@ben', ['ben']], ['@ ben', []], ['@', []], ['@-', []], ['@.', []],
    ['`@ben` @cem', ['cem']], ['```\n@ben\n``` @cem', ['cem']], ['``@ben`` @cem', ['cem']], ['``a ` @ben`` @cem', ['cem']], ['``` @ben', []], ['a ` b @cem', ['cem']], ['`one\n@cem `two', ['cem']],
    ['@Zoë @日本', ['Zoë', '日本']], ['@Ben @ben', ['Ben', 'ben']], ['\n@ben\t@cem', ['ben', 'cem']], ['https://x.com/@ben', ['ben']], ['@1', ['1']],
  ])('of %j are %j', async (text, mentions) => {
    const { ben, channelId, say } = await talk()
    const sent = await say(text)
    expect(sent.mentions).toEqual(mentions)
    expect(await ben.messages.get({ channelId, messageId: sent.id })).toEqual(sent)
  })

  test('are found in the longest texts at once', async () => {
    const { say } = await talk()
    for (const text of ['@', '`', '``` ', '@.', '@-a', '`` ', '@a`', '``a`'].map((part) =>
      part.repeat(10_000 / part.length),
    )) {
      const before = workedMs()
      await say(text)
      expect(workedMs() - before).toBeLessThan(1_000)
    }
  })
})

describe('replies', () => {
  test('count at their root and are told with it', async () => {
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

  test('to a reply join the thread of its root', async () => {
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

  test('want a live message of the same channel', async () => {
    const { ana, channelId, say } = await talk()
    const other = await talk()
    const elsewhere = await other.say('elsewhere')
    const deleted = await say('deleted')
    await ana.messages.delete({ channelId, messageId: deleted.id })
    for (const parentId of [elsewhere.id, deleted.id, unknownId])
      expect(await refusal(say('x', { parentId }))).toEqual(notFound)
    expect((await ana.messages.list({ channelId })).maxSeq).toBe(1)
  })

  test('go on below a live reply of a deleted root, and deleted ones no longer count', async () => {
    const { ana, channelId, say } = await talk()
    const root = await say('root')
    const one = await say('one', { parentId: root.id })
    const two = await say('two', { parentId: root.id })
    await ana.messages.delete({ channelId, messageId: one.id })
    expect((await channelEventsOf(world(), channelId)).at(-1)).toMatchObject({
      type: 'message.deleted',
      payload: { messageId: one.id, seq: 2, parent: { id: root.id, replyCount: 1 } },
    })
    expect(await ana.messages.get({ channelId, messageId: root.id })).toMatchObject({
      replyCount: 1,
    })
    await ana.messages.delete({ channelId, messageId: root.id })
    const three = await say('three', { parentId: two.id })
    expect(three.parentId).toBe(root.id)
    expect((await ana.messages.replies({ channelId, messageId: root.id })).messages).toEqual([
      two,
      three,
    ])
  })

  test('come in pages, in both directions', async () => {
    const { ana, cem, channelId, say } = await talk()
    const root = await say('root')
    const ids: string[] = []
    for (let place = 0; place < 5; place++) {
      ids.push((await say(`reply ${place}`, { parentId: root.id })).id)
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

describe('listing', () => {
  /** Ten messages, of which the third and the tenth were deleted. */
  const history = async () => {
    const { ana, cem, channelId, say } = await talk()
    const ids: string[] = []
    for (const seq of upTo(10)) ids.push((await say(`message ${seq}`)).id)
    const id = (seq: number) => ids[seq - 1] ?? ''
    for (const seq of [3, 10]) await ana.messages.delete({ channelId, messageId: id(seq) })
    const page = async (
      query: { limit?: number; before?: string; after?: string; since_seq?: number } = {},
    ) => {
      const { messages, maxSeq, hasMore } = await ana.messages.list({ channelId, ...query })
      expect(maxSeq).toBe(10)
      return [messages.map(({ seq }) => seq), hasMore]
    }
    return { ana, cem, channelId, id, page }
  }

  test('without a cursor shows the newest, ascending', async () => {
    const { page } = await history()
    expect(await page()).toEqual([[1, 2, 4, 5, 6, 7, 8, 9], false])
    expect(await page({ limit: 3 })).toEqual([[7, 8, 9], true])
    expect(await page({ limit: 8 })).toEqual([[1, 2, 4, 5, 6, 7, 8, 9], false])
    expect(await page({ limit: 7 })).toEqual([[2, 4, 5, 6, 7, 8, 9], true])
  })

  test('goes back from a message, a deleted one too', async () => {
    const { page, id } = await history()
    expect(await page({ before: id(7), limit: 2 })).toEqual([[5, 6], true])
    expect(await page({ before: id(5), limit: 3 })).toEqual([[1, 2, 4], false])
    expect(await page({ before: id(3) })).toEqual([[1, 2], false])
    expect(await page({ before: id(10), limit: 1 })).toEqual([[9], true])
    expect(await page({ before: id(1) })).toEqual([[], false])
  })

  test('goes on from a message, a deleted one too', async () => {
    const { page, id } = await history()
    expect(await page({ after: id(1), limit: 2 })).toEqual([[2, 4], true])
    expect(await page({ after: id(3), limit: 3 })).toEqual([[4, 5, 6], true])
    expect(await page({ after: id(7), limit: 2 })).toEqual([[8, 9], false])
    expect(await page({ after: id(9) })).toEqual([[], false])
    expect(await page({ after: id(10) })).toEqual([[], false])
  })

  test('since a seq shows everything after it, tombstones included', async () => {
    const { ana, channelId, page } = await history()
    expect(await page({ since_seq: 0 })).toEqual([upTo(10), false])
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
    })
  })

  test('walks through the whole channel in pages of any size, in every direction', async () => {
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

  test('answers 100 unless told, and at most 200', async () => {
    const { ana, channelId, say } = await talk()
    await Promise.all(upTo(201).map((n) => say(`${n}`)))
    const seqs = async (query: object) =>
      (await ana.messages.list({ channelId, ...query })).messages.map(({ seq }) => seq)
    expect(await seqs({})).toEqual(upTo(201).slice(101))
    expect(await seqs({ limit: 1_000 })).toEqual(upTo(201).slice(1))
    expect(await seqs({ limit: 1_000, since_seq: 0 })).toEqual(upTo(200))
  })

  test('of an empty channel is empty', async () => {
    const { ana, channelId } = await talk()
    for (const query of [{}, { since_seq: 0 }, { since_seq: 5 }])
      expect(await ana.messages.list({ channelId, ...query })).toEqual({
        messages: [],
        maxSeq: 0,
        hasMore: false,
      })
  })

  test('refuses two cursors and malformed ones with 400, unknown ones with 404', async () => {
    const { ana, channelId, id } = await history()
    const other = await talk()
    const elsewhere = await other.say('elsewhere')
    const list = async (query: string) =>
      (await rest(world(), ana)('GET', `/api/channels/${channelId}/messages?${query}`)).status
    // biome-ignore format: a table
    for (const query of [
      `before=${id(1)}&after=${id(2)}`, `before=${id(1)}&since_seq=0`, `after=${id(1)}&since_seq=0`, 'before=first', 'after=', `before=${id(1)}&before=${id(2)}`,
      'limit=0', 'limit=-1', 'limit=1.5', 'limit=0x10', 'limit=1e3', 'limit=%2B1', 'since_seq=-1', 'since_seq=1.5', 'since_seq=x', 'since_seq=', 'since_seq=99999999999',
    ]) expect(`${await list(query)} ${query}`).toBe(`400 ${query}`)
    for (const query of [`before=${unknownId}`, `after=${unknownId}`, `before=${elsewhere.id}`])
      expect(await list(query)).toBe(404)
  })

  test('is for those who may read the channel', async () => {
    const { cem, channelId } = await history()
    const open = await talk('public')
    await open.say('for all')
    expect((await open.cem.messages.list(open)).messages).toMatchObject([{ text: 'for all' }])
    expect(await refusal(cem.messages.list({ channelId }))).toEqual(forbidden)
    expect(await refusal(cem.messages.list({ channelId: unknownId }))).toEqual(notFound)
  })
})

describe('editing', () => {
  test('replaces the text and works out the mentions anew', async () => {
    const { ana, ben, channelId, say } = await talk()
    const sent = await say('hi @ben')
    await ben.reactions.add({ channelId, messageId: sent.id, emoji: '👍' })
    await age(sent.id, '1 year')
    const edited = await ana.messages.edit({ channelId, messageId: sent.id, text: 'hi @cem' })
    expect(edited).toMatchObject({
      id: sent.id,
      seq: 1,
      text: 'hi @cem',
      mentions: ['cem'],
      editedAt: expect.any(String),
      reactions: [{ type: '👍', own: false }],
      rev: 5,
    })
    expect(edited.updatedAt).toBe(edited.editedAt)
    expect(await ana.messages.get({ channelId, messageId: sent.id })).toEqual(edited)
    expect((await channelEventsOf(world(), channelId)).at(-1)).toMatchObject({
      type: 'message.updated',
      offset: 5,
      payload: { message: edited },
    })
  })

  test('moves when the message was updated, not when it was sent', async () => {
    const { ana, ben, channelId, say } = await talk()
    const sent = await say('first')
    expect(sent.updatedAt).toBe(sent.createdAt)
    await ben.reactions.add({ channelId, messageId: sent.id, emoji: '👍' })
    expect(await ana.messages.get({ channelId, messageId: sent.id })).toMatchObject({
      createdAt: sent.createdAt,
      updatedAt: sent.updatedAt,
    })
    const edited = await ana.messages.edit({ channelId, messageId: sent.id, text: 'second' })
    expect(edited.createdAt).toBe(sent.createdAt)
    expect(Date.parse(edited.updatedAt)).toBeGreaterThan(Date.parse(sent.updatedAt))
  })

  test('that changes nothing is told nobody', async () => {
    const { ana, channelId, say } = await talk()
    const sent = await say('same')
    expect(await ana.messages.edit({ channelId, messageId: sent.id, text: 'same' })).toEqual(sent)
    expect(await channelEventsOf(world(), channelId)).toHaveLength(3)
  })

  test('is for the author', async () => {
    const { ana, ben, cem, channelId, say } = await talk()
    const { id: messageId } = await say('mine')
    const foreign = await ben.messages.send({ channelId, text: 'yours' })
    for (const user of [ben, cem])
      expect(await refusal(user.messages.edit({ channelId, messageId, text: 'x' }))).toEqual(
        forbidden,
      )
    expect(
      await refusal(ana.messages.edit({ channelId, messageId: foreign.id, text: 'x' })),
    ).toEqual(forbidden)
    expect(
      await refusal(
        world().api({ apiKey: world().apiKey }).messages.edit({ channelId, messageId, text: 'x' }),
      ),
    ).toEqual(unauthorized)
  })

  test('wants a text, or an attachment that stays', async () => {
    const { ana, channelId, say } = await talk()
    const plain = await say('words')
    const picture = await ana.messages.send({
      channelId,
      text: 'look',
      attachments: [{ type: 'image', url: 'https://example.com/cat.png' }],
    })
    for (const text of ['', 'x'.repeat(10_001), 7 as unknown as string])
      expect(await refusal(ana.messages.edit({ channelId, messageId: plain.id, text }))).toEqual(
        invalid,
      )
    expect(await ana.messages.edit({ channelId, messageId: picture.id, text: '' })).toMatchObject({
      text: '',
      attachments: picture.attachments,
    })
  })
})

describe('deleting', () => {
  test('leaves a tombstone, and nothing of the message anywhere', async () => {
    const { ana, ben, channelId, say } = await talk()
    const { id: messageId } = await ana.messages.send({
      channelId,
      text: 'first secret @ben',
      attachments: [{ type: 'image', url: 'https://example.com/secret.png' }],
    })
    const ref = { channelId, messageId }
    await ben.reactions.add({ ...ref, emoji: '👍' })
    await ben.pins.pin(ref)
    await ana.messages.edit({ ...ref, text: 'second secret @cem' })
    await ana.members.add({ channelId, userIds: ['cem'] })
    await say('after')
    const answer = await ana.messages.delete(ref)
    expect(answer).toEqual({ success: true, messageId, deletedAt: expect.any(String) })
    const stored = await world().db<{ row: string }[]>`
      select m::text as row from messages m union all select e::text from events e union all select r::text from reactions r where message_id = ${messageId} union all select p::text from pins p where message_id = ${messageId}`
    expect(stored.filter(({ row }) => /secret/.test(row))).toEqual([])
    const [tombstone] = (await ben.messages.list({ channelId, since_seq: 0 })).messages
    expect(tombstone).toMatchObject({
      id: messageId,
      seq: 1,
      text: '',
      mentions: [],
      attachments: [],
      reactions: [],
      pinned: false,
      deletedAt: answer.deletedAt,
    })
    const told = (await channelEventsOf(world(), channelId)).filter(
      ({ payload }) => payload.messageId === messageId,
    )
    expect(told.map(({ type, payload }) => [type, payload])).toEqual(
      Array.from({ length: 5 }, () => [
        'message.deleted',
        { ...ref, seq: 1, deletedAt: answer.deletedAt },
      ]),
    )
    expect((await ben.channels.get({ channelId })).lastMessage).toMatchObject({ text: 'after' })
    expect((await ben.messages.list({ channelId })).messages.map(({ seq }) => seq)).toEqual([2])
  })

  test('happens once: what is deleted is not found', async () => {
    const { ana, ben, channelId, say } = await talk()
    const ref = { channelId, messageId: (await say('once')).id }
    await ana.messages.delete(ref)
    const calls = [
      ana.messages.delete(ref),
      ana.messages.edit({ ...ref, text: 'x' }),
      ana.messages.get(ref),
      ben.messages.get(ref),
      world().backend.messages.delete(ref),
    ]
    for (const call of await refusals(calls)) expect(call).toEqual(notFound)
    expect((await say('next')).seq).toBe(2)
  })

  test('is for the author within 15 minutes of the clock of the database', async () => {
    const { ana, ben, channelId, say } = await talk()
    const foreign = {
      channelId,
      messageId: (await ben.messages.send({ channelId, text: 'yours' })).id,
    }
    expect(await refusal(ana.messages.delete(foreign))).toEqual(forbidden)
    const young = { channelId, messageId: (await say('young')).id }
    const old = { channelId, messageId: (await say('old')).id }
    await age(young.messageId, '14 minutes 55 seconds')
    await age(old.messageId, '15 minutes 1 second')
    expect(await refusal(ana.messages.delete(old))).toEqual(forbidden)
    expect(await ana.messages.delete(young)).toMatchObject({ success: true })
    expect((await ana.messages.get(old)).text).toBe('old')
  })

  test('is for a backend at any age, in its own app', async () => {
    const { ana, channelId, say } = await talk('private')
    const ref = { channelId, messageId: (await say('old')).id }
    await age(ref.messageId, '1 year')
    const { apiKey } = await world().api({ adminKey: ADMIN_KEY }).apps.create({ name: 'Other' })
    expect(await refusal(world().api({ apiKey }).messages.delete(ref))).toEqual(notFound)
    expect(await refusal(world().api({ apiKey: 'pk_wrong' }).messages.delete(ref))).toEqual(
      unauthorized,
    )
    expect(await world().backend.messages.delete(ref)).toMatchObject({
      success: true,
      messageId: ref.messageId,
    })
    expect(await refusal(ana.messages.get(ref))).toEqual(notFound)
  })
})

describe('elsewhere', () => {
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

  test('a channel of another app answers as an unknown one', async () => {
    const { channelId, say } = await talk('public')
    const { id: messageId } = await say('ours')
    const { apiKey } = await world().api({ adminKey: ADMIN_KEY }).apps.create({ name: 'Other' })
    const stranger = await world().user('ana', {}, world().api({ apiKey }))
    // biome-ignore format: a table
    for (const [method, path, body] of [
      ['GET', '/messages', undefined], ['POST', '/messages', { text: 'x' }], ['GET', `/messages/${messageId}`, undefined], ['GET', `/messages/${messageId}/replies`, undefined], ['PATCH', `/messages/${messageId}`, { text: 'x' }],
      ['DELETE', `/messages/${messageId}`, undefined], ['POST', `/messages/${messageId}/reactions`, { emoji: '👍' }], ['DELETE', `/messages/${messageId}/reactions/x`, undefined],
      ['POST', `/messages/${messageId}/pin`, undefined], ['DELETE', `/messages/${messageId}/pin`, undefined], ['GET', '/pins', undefined], ['POST', '/read', { messageId }], ['PATCH', '/settings', { muted: true }],
    ] as const) {
      const call = (id: string) => rest(world(), stranger)(method, `/api/channels/${id}${path}`, body)
      const unknown = await call(unknownId)
      expect(unknown).toEqual({ status: 404, body: { error: { code: 'NOT_FOUND', message: 'Channel not found' } } })
      expect(await call(channelId)).toEqual(unknown)
    }
  })
})
