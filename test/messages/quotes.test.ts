import { limits } from '@parley/contract'
import { expect, onTestFinished, test } from 'vitest'
import { channel, channelIdOf, importInto, message, messageIdOf, user } from '../imports/records.ts'
import { liveChatOf, ready, until } from '../support/chat.ts'
import { erased } from '../support/cleanup.ts'
import { channelEventsOf, upTo } from '../support/events.ts'
import { unknownId } from '../support/ids.ts'
import { notFound, refusal } from '../support/refusal.ts'
import { useSharedWorld } from '../support/world.ts'
import { eventsOf, talkIn } from './fixture.ts'

const world = useSharedWorld()
const talk = talkIn(world)
const storedEvents = (text: string) =>
  world().db<{ type: string }[]>`
    select type
    from events
    where envelope like ${`%${text}%`}`

test('a quote shows the message as it is now, shortened, in answers and events', async () => {
  const { ana, ben, channelId, say } = await talk()
  const text = '🍲'.repeat(limits.quotedTextLength + 50)
  const soup = await ana.messages.send({
    channelId,
    text,
    attachments: [
      { type: 'image', url: 'https://example.com/soup.png' },
      { type: 'file', url: 'https://example.com/soup.pdf' },
    ],
  })
  const sent = await ben.messages.send({ channelId, text: 'Yes', quotedMessageId: soup.id })
  const quoted = {
    id: soup.id,
    seq: soup.seq,
    rev: soup.rev,
    userId: 'ana',
    user: soup.user,
    text: '🍲'.repeat(limits.quotedTextLength),
    attachmentCount: 2,
    attachmentType: 'image',
    deletedAt: null,
  }
  expect(sent).toMatchObject({ parentId: null, quotedMessage: quoted })
  expect((await channelEventsOf(world(), channelId)).at(-1)?.payload).toMatchObject({
    message: sent,
  })
  const edited = await ana.messages.edit({ channelId, messageId: soup.id, text: 'Salad' })
  const live = { ...sent, quotedMessage: { ...quoted, rev: edited.rev, text: 'Salad' } }
  expect(await ana.messages.get({ channelId, messageId: sent.id })).toEqual(live)
  expect((await ana.messages.list({ channelId })).messages).toEqual([edited, live])
  expect((await ana.channels.get({ channelId })).lastMessage).toEqual(live)
  expect(soup).not.toHaveProperty('quotedMessage')
  expect(await say('plain')).not.toHaveProperty('quotedMessage')
})

test('a quote requires a live message of the same channel', async () => {
  const { ana, channelId, say } = await talk()
  const elsewhere = await (await talk()).say('elsewhere')
  const deleted = await say('deleted')
  await ana.messages.delete({ channelId, messageId: deleted.id })
  const foreign = await world().stranger()
  const backend = await foreign.channels.create({ type: 'group', name: 'Other' })
  const other = await foreign.messages.send({ channelId: backend.id, text: 'other app' })
  for (const quotedMessageId of [elsewhere.id, deleted.id, other.id, unknownId])
    expect(await refusal(ana.messages.send({ channelId, text: 'x', quotedMessageId }))).toEqual(
      notFound,
    )
  const { results } = await ana.messages.sendBatch({
    channelId,
    messages: [
      { text: 'a', clientId: 'a', quotedMessageId: unknownId },
      { text: 'b', clientId: 'b' },
    ],
  })
  expect(results).toMatchObject([{ error: { code: 'NOT_FOUND' } }, { message: { text: 'b' } }])
})

test('a deleted message is gone from a quote that was edited while its node listens', async () => {
  const { ana, ben, channelId, say } = await talk()
  const secret = await say('a secret stew')
  const quoting = { channelId, text: 'psst', quotedMessageId: secret.id }
  const { id: messageId } = await ben.messages.send(quoting)
  const { missed } = await eventsOf(world(), ben, channelId)
  await ben.messages.edit({ channelId, messageId, text: 'psst!' })
  await ana.messages.delete({ channelId, messageId: secret.id })
  const again = await missed(2)
  expect(again.types).toEqual(['message.updated', 'message.deleted'])
  expect(JSON.stringify(again.received)).not.toContain('a secret stew')
})

test('a deleted message is gone from its quotes in answers and stored events', async () => {
  const { ana, ben, channelId, say } = await talk()
  // From here on its node remembers the events of the topic.
  const { missed } = await eventsOf(world(), ben, channelId)
  const secret = await say('a secret soup')
  const quoting = await ben.messages.send({
    channelId,
    text: 'psst',
    quotedMessageId: secret.id,
    clientId: 'psst',
  })
  await ben.messages.edit({ channelId, messageId: quoting.id, text: 'psst!' })
  await ben.messages.send({ channelId, text: 'again', quotedMessageId: secret.id })
  expect(await storedEvents('a secret soup')).toHaveLength(4)
  await ana.messages.delete({ channelId, messageId: secret.id })
  const gone = { text: '', attachmentCount: 0, attachmentType: null, deletedAt: expect.any(String) }
  expect(await storedEvents('a secret soup')).toEqual([])
  const { messages } = await ben.messages.list({ channelId })
  expect(messages.map(({ quotedMessage }) => quotedMessage)).toMatchObject([gone, gone])
  const revs = await world().db<{ rev: number }[]>`
    select (e.envelope::jsonb #>> '{payload,message,quotedMessage,rev}')::int as rev
    from events e
    where e.message_id = any(${messages.map(({ id }) => id)}::uuid[])`
  expect(new Set(revs.map(({ rev }) => rev))).toEqual(new Set([messages[0]?.quotedMessage?.rev]))
  const repeated = await ben.messages.send({ channelId, text: 'psst', clientId: 'psst' })
  expect(repeated).toEqual(messages[0])
  const again = await missed(4)
  expect(again.types).toEqual(['message.new', 'message.updated', 'message.new', 'message.deleted'])
  expect(JSON.stringify(again.received)).not.toContain('a secret soup')
})

test('stored quotes of a deleted user have no name', async () => {
  const { ben, channelId } = await talk()
  const { backend } = world()
  const image = 'https://chat.test/quoted.png'
  const cleo = await world().user('cleo', { name: 'Cleo the Quoted', image })
  await ben.members.add({ channelId, userIds: [cleo.id] })
  const { id } = await cleo.messages.send({ channelId, text: 'my words' })
  await ben.messages.send({ channelId, text: 'hers', quotedMessageId: id })
  const quotes = () =>
    world().db<{ user: string }[]>`
      select envelope::jsonb #> '{payload,message,quotedMessage,user}' as user
      from events
      where envelope like ${`%"${id}"%`} and type = 'message.new' and message_id <> ${id}`
  expect(await quotes()).toEqual([{ user: { id: cleo.id, name: 'Cleo the Quoted', image } }])
  await backend.users.delete({ userId: cleo.id })
  await erased(world())
  expect(await quotes()).toEqual([{ user: { id: cleo.id, name: 'Deleted user', image: null } }])
})

test('stored quotes of a deleted system message keep its author', async () => {
  const { ben, channelId } = await talk()
  const { backend, db } = world()
  const notice = await backend.messages.send({ channelId, text: 'Asked' })
  const quoting = await ben.messages.send({ channelId, text: 'who?', quotedMessageId: notice.id })
  await backend.messages.delete({ channelId, messageId: notice.id })
  const quotes = await db<{ quote: { user: object; text: string } }[]>`
    select envelope::jsonb #> '{payload,message,quotedMessage}' as quote
    from events
    where message_id = ${quoting.id}
      and type = 'message.new'`
  expect(quotes).toMatchObject([{ quote: { user: notice.user, text: '' } }])
})

test('backends quote, and streams grow below their quotes', async () => {
  const { channelId, say } = await talk()
  const asked = await say('Which soup?')
  const notice = await world().backend.messages.send({
    channelId,
    text: 'Asked',
    quotedMessageId: asked.id,
  })
  expect(notice).toMatchObject({ type: 'system', quotedMessage: { id: asked.id } })
  const [cem] = await world().users('ben')
  const grows = await cem.messages.send({
    channelId,
    text: '',
    streaming: true,
    quotedMessageId: notice.id,
  })
  await cem.streams.append({ channelId, messageId: grows.id, at: 0, text: 'Leek' })
  expect(await cem.streams.finish({ channelId, messageId: grows.id })).toMatchObject({
    text: 'Leek',
    quotedMessage: { userId: notice.userId, user: notice.user, text: 'Asked' },
  })
})

test('the client shows the quote of a pending message, and keeps quotes up to date', async () => {
  const { ana, channelId, say } = await talk()
  const soup = await say('Soup?')
  const { chat } = await liveChatOf(world(), 'ben')
  const room = chat.channel(channelId)
  room.watch()
  await until(room.messages, ({ items }) => items.length === 1)
  const out = room.send({ text: 'Yes', quotedMessageId: soup.id })
  const quoteShown = () => room.messages.getSnapshot().items.at(-1)?.quotedMessage
  expect(quoteShown()).toMatchObject({ id: soup.id, text: 'Soup?', user: soup.user })
  expect((await out.sent).quotedMessage).toEqual(quoteShown())
  await ana.messages.edit({ channelId, messageId: soup.id, text: 'Salad?' })
  await expect.poll(() => quoteShown()?.text).toBe('Salad?')
  await ana.messages.delete({ channelId, messageId: soup.id })
  await expect.poll(() => quoteShown()?.deletedAt).not.toBe(null)
  const { messages } = await ana.messages.list({ channelId })
  expect(quoteShown()).toEqual(messages.at(-1)?.quotedMessage)
})

test('quotes of messages that the client has not loaded are kept up to date, too', async () => {
  const { ana, ben, channelId, say } = await talk()
  const soup = await say('Soup?')
  const salad = await say('Salad?')
  const reply = await say('In a thread')
  for (const { id: quotedMessageId } of [soup, salad])
    await ben.messages.send({ channelId, text: 'Yes', parentId: reply.id, quotedMessageId })
  const later = upTo(50).map((n) => ({ text: `${n}`, clientId: `later ${n}` }))
  await ana.messages.sendBatch({ channelId, messages: later })
  const { chat } = await liveChatOf(world(), 'ben')
  const room = chat.channel(channelId)
  onTestFinished(room.watch())
  const thread = room.thread(reply.id)
  const quotes = () => thread.getSnapshot().items.map(({ quotedMessage }) => quotedMessage)
  onTestFinished(thread.subscribe(() => {}))
  await until(thread, ({ items }) => items.length === 2)
  await until(room.messages, ready)
  expect(room.messages.getSnapshot().items.map(({ id }) => id)).not.toContain(salad.id)
  await ana.messages.edit({ channelId, messageId: soup.id, text: 'Stew?' })
  await ana.messages.delete({ channelId, messageId: salad.id })
  await expect.poll(() => quotes()[1]?.deletedAt).not.toBe(null)
  const { messages } = await ana.messages.replies({ channelId, messageId: reply.id })
  expect(quotes()).toEqual(messages.map(({ quotedMessage }) => quotedMessage))
})

test('exports say what was quoted, and imports bring quotes along', async () => {
  const report = await importInto(world(), [
    user('dora'),
    channel('quotes', { name: 'Quotes', createdBy: 'dora' }),
    message('q1', 'quotes', { userId: 'dora', text: 'first' }),
    message('q2', 'quotes', { userId: 'dora', quotedMessageId: 'q1' }),
    message('q3', 'quotes', { userId: 'dora', quotedMessageId: 'deleted before' }),
  ])
  expect(report.refused).toBe(0)
  const channelId = channelIdOf(world(), 'quotes')
  const { messages } = await world().backend.messages.list({ channelId })
  expect(messages.map(({ quotedMessage }) => quotedMessage?.text)).toEqual([
    undefined,
    'first',
    undefined,
  ])
  const exported: unknown[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await world().backend.users.export({ userId: 'dora', cursor })
    exported.push(...page.items.filter(({ kind }) => kind === 'message').map(({ data }) => data))
    cursor = page.nextCursor
  }
  expect(exported).toMatchObject([
    { quotedMessageId: null },
    { quotedMessageId: messageIdOf(world(), 'q1') },
    { quotedMessageId: null },
  ])
})
