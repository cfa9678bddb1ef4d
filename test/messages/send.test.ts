import { describe, expect, test } from 'vitest'
import { channelEventsOf } from '../support/events.ts'
import { unknownId } from '../support/ids.ts'
import { withoutCleanup } from '../support/locks.ts'
import { complaint, forbidden, invalid, notFound, refusal } from '../support/refusal.ts'
import { rest } from '../support/rest.ts'
import { workedMs } from '../support/worked.ts'
import { useWorld } from '../support/world.ts'
import { talkIn } from './fixture.ts'

const world = useWorld()
const strict = useWorld({ rateLimits: { tokens: 0, messages: 3, requests: 0 } })
const talk = talkIn(world)

describe('sending a message', () => {
  test('a send answers with the whole message, and every reader gets the same', async () => {
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

  test('a text has 1 to 10,000 characters, and an emoji counts as one', async () => {
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

  test('a message with attachments needs no text, and has at most thirty of them', async () => {
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
  ])('sending %j is refused', async (body) => {
    const { ana, channelId } = await talk()
    expect(await rest(world(), ana)('POST', `/api/channels/${channelId}/messages`, body)).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } })
  })

  test('only members send, and in an open channel the first message makes its author a member', async () => {
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

  test('a refused first message does not make its author a member', async () => {
    const { cem, channelId } = await talk('public')
    expect(await refusal(cem.messages.send({ channelId, text: 'x', parentId: unknownId }))).toEqual(
      notFound,
    )
    expect(await cem.channels.get({ channelId })).toMatchObject({ role: null, memberCount: 2 })
  })
})

describe('client ids', () => {
  test('a repeated send with a client id answers with the original message as it is now', async () => {
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

  test('twenty sends at once with one client id make one message', async () => {
    const { ana, channelId, say } = await talk()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => say(`try ${index}`, { clientId: 'same' })),
    )
    expect(new Set(answers.map(({ id, text }) => `${id} ${text}`)).size).toBe(1)
    expect((await ana.messages.list({ channelId })).messages).toEqual([answers[0]])
    expect(await channelEventsOf(world(), channelId)).toHaveLength(3)
  })

  test('a client id is unique for one author in one channel', async () => {
    const { ana, ben, channelId, say } = await talk()
    const other = await talk()
    const sent = [
      await say('one', { clientId: 'k' }),
      await ben.messages.send({ channelId, text: 'two', clientId: 'k' }),
      await ana.messages.send({ channelId: other.channelId, text: 'three', clientId: 'k' }),
    ]
    expect(sent.map(({ text }) => text)).toEqual(['one', 'two', 'three'])
  })

  test('a repeated send shows nothing to an author who was removed', async () => {
    const { ana, ben, channelId } = await talk()
    const send = () => ben.messages.send({ channelId, text: 'hi', clientId: 'gone' })
    await send()
    await ana.members.remove({ channelId, userId: 'ben' })
    expect(await refusal(send())).toEqual(forbidden)
  })
})

test('over the rate limit a repeated send is still answered, to an author who may read the channel', async () => {
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
  ])('the mentions in %j are %j', async (text, mentions) => {
    const { ben, channelId, say } = await talk()
    const sent = await say(text)
    expect(sent.mentions).toEqual(mentions)
    expect(await ben.messages.get({ channelId, messageId: sent.id })).toEqual(sent)
  })

  test('mentions in the longest texts are found within a second of work', async () => {
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
