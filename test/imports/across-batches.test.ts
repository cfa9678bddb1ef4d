import { createChatServer, type ImportRecord } from '@parley/client/server'
import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { liveChatOf, ready, until } from '../support/chat.ts'
import { upTo } from '../support/events.ts'
import { useWorld } from '../support/world.ts'
import { at, channel, channelIdOf, importInto, member, message, post, user } from './records.ts'

const world = useWorld({ timings: { reconcileMs: 300 } })
/** Enough records that the next one is in another batch. */
const others = upTo(limits.imports.batch.lines).map(() => user('ana'))

test('a record may refer to another any number of lines before it', async () => {
  const by = { userId: 'ana', createdAt: at(5) }
  const before = [user('ana'), user('gil'), channel('long'), member('long', 'gil')]
  const later: ImportRecord[] = [
    message('long2', 'long', { quotedMessageId: 'long1', createdAt: at(2) }),
    message('long3', 'long', { parentId: 'long1', createdAt: at(3) }),
    message('long4', 'long', { parentId: 'long3', createdAt: at(4) }),
    { record: 'reaction', messageId: 'long1', emoji: '👍', ...by },
    { record: 'pin', messageId: 'long1', ...by },
    { record: 'read', channelId: 'long', messageId: 'long1', ...by, userId: 'gil' },
  ]
  const report = await importInto(world(), [
    ...[...before, message('long1', 'long')],
    ...later.flatMap((record) => [...others, record]),
  ])
  expect(report.refusals).toEqual([])
  const gil = await world().user('gil')
  const { messages } = await gil.messages.list({ channelId: channelIdOf(world(), 'long') })
  expect(messages).toMatchObject([
    { pinned: true, reactions: [{ type: '👍' }], replyCount: 2 },
    { quotedMessage: { text: 'long1' } },
    { text: 'long3' },
    { text: 'long4' },
  ])
})

test('a channel may have an owner from any number of lines before it', async () => {
  const owned = channel('owned', { createdBy: 'zed' })
  const report = await importInto(world(), [user('zed'), ...others, owned])
  expect(report.refusals).toEqual([])
  expect(report.imported).toMatchObject({ channels: 1 })
})

test('a reaction, pin or read that a file has twice is imported once', async () => {
  const by = { userId: 'ana', createdAt: at(5) }
  const marks: ImportRecord[] = [
    { record: 'reaction', messageId: 'echo1', emoji: '👍', ...by },
    { record: 'pin', messageId: 'echo1', ...by },
    { record: 'read', channelId: 'echo', messageId: 'echo1', ...by },
  ]
  const before = [user('ana'), channel('echo'), member('echo', 'ana'), message('echo1', 'echo')]
  const report = await importInto(world(), [...before, ...marks, ...marks])
  const once = { reactions: 1, pins: 1, reads: 1 }
  expect([report.imported, report.skipped]).toMatchObject([once, once])
})

test('two users have one direct message, and another once it is deleted', async () => {
  const pair = (id: string): ImportRecord[] => [
    ...[user('kim'), user('lee')],
    channel(id, {
      ...{ type: 'messaging', name: undefined },
      ...{ memberIds: ['kim', 'lee'], createdBy: 'kim' },
    }),
  ]
  await post(
    world(),
    `${pair('pair1')
      .map((record) => JSON.stringify(record))
      .join('\n')}\n{`,
  )
  const taken = [{ line: 3, reason: 'memberIds: the two have a direct message already' }]
  // The first one waits for the end of its file.
  expect((await importInto(world(), pair('pair2'))).refusals).toEqual(taken)
  expect((await importInto(world(), pair('pair1'))).refusals).toEqual([])
  expect((await importInto(world(), pair('pair2'))).refusals).toEqual(taken)
  const kim = await world().user('kim')
  await kim.channels.delete({ channelId: channelIdOf(world(), 'pair1') })
  expect((await importInto(world(), pair('pair2'))).refusals).toEqual([])
  const { channels } = await kim.channels.list({})
  expect(channels.map(({ id }) => id)).toEqual([channelIdOf(world(), 'pair2')])
})

test('the time of a reply is compared with its parent, not with a pin of the parent', async () => {
  const report = await importInto(world(), [
    ...[user('ana'), channel('pinned')],
    { record: 'pin', messageId: 'pinned1', userId: 'ana', createdAt: at(9) },
    message('pinned1', 'pinned'),
    ...others,
    message('pinned2', 'pinned', { parentId: 'pinned1', createdAt: at(5) }),
  ])
  expect(report.refusals).toEqual([])
})

test('empty custom data of an imported message is absent, as with a sent one', async () => {
  const plain = message('plain1', 'plain', { custom: {} })
  await importInto(world(), [user('ana'), channel('plain'), plain])
  const channelId = channelIdOf(world(), 'plain')
  const { messages } = await world().backend.messages.list({ channelId })
  expect(messages.map((each) => 'custom' in each)).toEqual([false])
})

test('records with times in the future are refused', async () => {
  const future = new Date(Date.now() + 3_600_000).toISOString()
  const report = await importInto(world(), [
    ...[user('ana'), channel('early')],
    user('unborn', { createdAt: future }),
    channel('planned', { createdAt: future }),
    member('early', 'ana', { joinedAt: future }),
    message('early1', 'early', { editedAt: future }),
  ])
  expect(report.refusals).toEqual(
    ['createdAt', 'createdAt', 'joinedAt', 'editedAt'].map((name, index) => ({
      ...{ line: index + 3, reason: `${name}: expected a time in the past` },
    })),
  )
})

test('a direct message with an unknown user is refused', async () => {
  const report = await importInto(world(), [
    user('ana'),
    channel('half', { type: 'messaging', name: undefined, memberIds: ['ana', 'nobody'] }),
  ])
  expect(report.refusals).toEqual([{ line: 2, reason: 'memberIds: unknown user' }])
})

test('a reply may have the time of its root', async () => {
  const reply = message('same2', 'same', { parentId: 'same1' })
  const records = [user('ana'), channel('same'), message('same1', 'same'), reply]
  expect(await importInto(world(), records)).toMatchObject({
    refused: 0,
    imported: { messages: 2 },
  })
})

test('users and channels are as old as their file says', async () => {
  await importInto(world(), [
    user('old', { createdAt: at(7) }),
    channel('oldest'),
    member('oldest', 'old'),
  ])
  const { items } = await world().backend.users.export({ userId: 'old' })
  expect(items[0]).toMatchObject({ data: { createdAt: at(7) } })
  const old = await world().user('old')
  expect(await old.channels.get({ channelId: channelIdOf(world(), 'oldest') })).toMatchObject({
    ...{ createdAt: at(0), updatedAt: at(0) },
  })
})

test('imported channels are discovered by their last messages, and not by the import', async () => {
  const { db, appId } = world()
  const old = { type: 'livestream', createdAt: at(1) }
  await importInto(world(), [channel('radio', old), channel('television', old)])
  const dee = await world().user('dee')
  const { id: channelId } = await dee.channels.create({ type: 'livestream', name: 'Live' })
  await db`
    update channels
    set
      last_activity_at = last_activity_at - interval '2 hours',
      active_hour = active_hour - interval '2 hours'
    where id = ${channelId}
      and app_id = ${appId}`
  const query = { discover: true, type: 'livestream', limit: 1 } as const
  const { channels } = await dee.channels.list(query)
  expect(channels.map(({ id }) => id)).toEqual([channelId])
})

test('a system message can be the first that an app has of the system', async () => {
  const { id: appId, apiKey } = await world().operator.apps.create({ name: 'Quiet' })
  const report = await importInto({ url: world().url, apiKey }, [
    ...[user('ana'), channel('said', { createdBy: 'ana' })],
    message('said1', 'said'),
    message('said2', 'said', { userId: undefined, type: 'system' }),
  ])
  expect(report).toMatchObject({ isFinished: true, imported: { messages: 2 } })
  const quiet = createChatServer({ url: world().url, apiKey })
  const channelId = channelIdOf({ appId }, 'said')
  const { messages } = await quiet.messages.list({ channelId })
  expect(messages.map(({ text, type }) => [text, type])).toEqual([
    ['said1', 'regular'],
    ['said2', 'system'],
  ])
})

test('the limits of a channel count what a killed import has stored', async () => {
  const { db, appId } = world()
  const kinds = limits.reactionKinds
  const reaction = (n: number): ImportRecord => ({
    ...{ record: 'reaction', messageId: 'rich1', emoji: `e${n}`, userId: 'ana', createdAt: at(5) },
  })
  const pin = (n: number): ImportRecord => ({
    ...{ record: 'pin', messageId: `rich${n}`, userId: 'ana', createdAt: at(n) },
  })
  const before = [
    ...[user('ana'), channel('rich')],
    ...upTo(limits.pins + 1).map((n) => message(`rich${n}`, 'rich')),
  ]
  await importInto(world(), [
    ...before,
    ...upTo(kinds - 1).map(reaction),
    ...upTo(limits.pins - 1).map(pin),
  ])
  // As if it had been killed before its end.
  await db`
    update channels
    set deleted_at = 'infinity'
    where id = ${channelIdOf(world(), 'rich')}
      and app_id = ${appId}`
  const rest = [reaction(kinds), reaction(kinds + 1), pin(limits.pins + 1), pin(limits.pins)]
  const { refusals } = await importInto(world(), [...before, ...rest])
  const first = before.length + 1
  expect(refusals).toEqual([
    { line: first + 1, reason: `emoji: a message can have at most ${kinds} kinds` },
    // The earliest pins are taken.
    { line: first + 2, reason: `messageId: a channel can have at most ${limits.pins} pins` },
  ])
})

test('a client with earlier events of its user shows imported channels, too', async () => {
  const { chat } = await liveChatOf(world(), 'ida')
  const ben = await world().user('ben')
  const live = await ben.channels.create({ type: 'group', name: 'Live', memberIds: ['ida'] })
  const list = chat.channels()
  await until(list, ({ items }) => items.some(({ id }) => id === live.id))
  await until(list, ready)
  await importInto(world(), [user('ida'), channel('news'), member('news', 'ida')])
  const id = channelIdOf(world(), 'news')
  await until(list, ({ items }) => items.some((item) => item.id === id))
})

test('an import whose lease another has taken ends, and leaves it the lease', async () => {
  const { db, appId } = world()
  const line = (record: ImportRecord) => `${JSON.stringify(record)}\n`
  const other = '00000000-0000-4000-8000-000000000000'
  async function* slow() {
    yield line(user('ana'))
    await expect.poll(() => db`select from imports where app_id = ${appId}`).toHaveLength(1)
    await db`update imports set run_id = ${other} where app_id = ${appId}`
    yield line(channel('lost'))
  }
  const { status, body } = await post(world(), ReadableStream.from(slow()) as never)
  expect([status, body.error?.code]).toEqual([429, 'RATE_LIMITED'])
  const left = await db`select run_id from imports where app_id = ${appId}`
  expect([...left]).toEqual([{ runId: other }])
  await db`delete from imports where app_id = ${appId}`
})
