import { describe, expect, test } from 'vitest'
import { channelEventsOf } from '../support/events.ts'
import { unknownId } from '../support/ids.ts'
import { complaint, forbidden, invalid, notFound, refusal } from '../support/refusal.ts'
import { rest } from '../support/rest.ts'
import { useSharedWorld } from '../support/world.ts'
import { talkIn } from './fixture.ts'

const world = useSharedWorld()
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
    expect(body).toMatchObject({
      channelId,
      userId: 'ana',
      text: 'hi @ben',
      seq: 1,
      rev: 3,
      user: { id: 'ana', name: 'Ana', image: 'https://example.com/ana.png' },
      reactions: [],
      mentions: ['ben'],
      attachments,
      parentId: null,
      replyCount: 0,
      pinned: false,
      clientId: 'out-1',
      editedAt: null,
      deletedAt: null,
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

  test('a link that cannot be parsed is text', async () => {
    const { ana, channelId, say } = await talk()
    const text = 'see https://1.2.3.400/ and https://xn--a/'
    const { id: messageId } = await say(text)
    expect((await ana.messages.get({ channelId, messageId })).text).toBe(text)
    await ana.messages.edit({ channelId, messageId, text: `${text}!` })
    expect((await ana.messages.get({ channelId, messageId })).text).toBe(`${text}!`)
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

  test.each([
    {},
    { text: null },
    { text: 7 },
    { text: ['x'] },
    { text: 'x', attachments: {} },
    { text: 'x', attachments: [{ type: 'image' }] },
    { text: 'x', attachments: [{ type: '', url: 'https://example.com' }] },
    { text: 'x', attachments: [{ type: 'image', url: 'javascript:alert(1)' }] },
    { text: 'x', attachments: [{ type: 'x'.repeat(33), url: 'https://example.com' }] },
    {
      text: 'x',
      attachments: [{ type: 'image', url: `https://example.com/${'x'.repeat(2_048)}` }],
    },
    {
      text: 'x',
      attachments: [{ type: 'image', url: 'https://example.com', name: 'x'.repeat(256) }],
    },
    { text: 'x', parentId: 'first' },
    { text: 'x', clientId: '' },
    { text: 'x', clientId: 'x'.repeat(129) },
  ])('sending %j is refused', async (body) => {
    const { ana, channelId } = await talk()
    expect(
      await rest(world(), ana)('POST', `/api/channels/${channelId}/messages`, body),
    ).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } })
  })

  test('only members send, and the first message to an open channel joins it', async () => {
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
