import { expect, test } from 'vitest'
import { erased } from '../support/cleanup.ts'
import { useWorld } from '../support/world.ts'
import {
  at,
  channel,
  channelIdOf,
  expectExactCounters,
  importInto,
  member,
  message,
  post,
  user,
} from './records.ts'

const world = useWorld()
const line = (record: object) => `${JSON.stringify(record)}\n`

test('lines that cannot be imported are reported with reasons, and stop no others', async () => {
  const { id: appId, apiKey } = await world().operator.apps.create({ name: 'Moving in' })
  const future = new Date(Date.now() + 3_600_000).toISOString()
  const emoji = { record: 'reaction', userId: 'ana', createdAt: at(2), emoji: '👍' }
  const lines: [string | object, string?][] = [
    [user('ana')],
    [channel('room', { createdBy: 'ana' })],
    ['nonsense', 'expected a JSON object'],
    ['[1]', 'expected object'],
    [{ record: 'poll', id: '1' }, 'record'],
    [{ ...user('eve'), naem: 'Eve' }, 'Unrecognized key'],
    ['"text"', 'expected object'],
    [user('parley.system'), 'id: expected something other than'],
    [channel('team', { type: 'team' }), 'type'],
    [channel('nameless', { name: undefined }), 'name: expected a name'],
    [channel('alone', { type: 'messaging' }), 'memberIds: expected'],
    [channel('self', { type: 'messaging', memberIds: ['ana', 'ana'] }), 'memberIds: expected 2'],
    [channel('closed', { memberIds: ['ana', 'ben'] }), 'memberIds: expected'],
    [channel('nobody', { createdBy: 'nobody' }), 'createdBy: unknown user'],
    [member('room', 'nobody'), 'userId: unknown user'],
    [member('nowhere', 'ana'), 'channelId: unknown channel'],
    [message('m1', 'room')],
    [message('m1', 'nowhere'), 'id: a message of another channel has it'],
    [message('m2', 'room', { userId: 'nobody' }), 'userId: unknown user'],
    [message('m3', 'room', { parentId: 'nothing' }), 'parentId: unknown message of the channel'],
    [
      message('m4', 'room', { parentId: 'm1', createdAt: at(0) }),
      'createdAt: expected no time before that of the parent',
    ],
    [message('m5', 'room', { createdAt: future }), 'createdAt: expected a time in the past'],
    [message('m6', 'room', { createdAt: '1969-12-31T23:59:59Z' }), 'createdAt: expected a time'],
    [
      message('m7', 'room', { text: 'x'.repeat(10_001) }),
      'text: expected at most 10000 characters',
    ],
    [message('m8', 'room', { text: '' }), 'text: expected at least 1 character, or an attachment'],
    [message('m9', 'room', { type: 'system' }), 'userId: expected for a regular message'],
    [message('m13', 'room', { userId: undefined }), 'userId: expected for a regular message'],
    [message('m10', 'room', { text: 'x\0' }), 'text: expected text without NUL'],
    [message('m11', 'room', { custom: { a: 'x'.repeat(9_000) } }), 'custom: expected at most'],
    [{ ...emoji, messageId: 'm2' }, 'messageId: unknown message'],
    [{ ...emoji, messageId: 'm1', emoji: 'two words' }, 'emoji: expected no spaces'],
    [
      { record: 'pin', messageId: 'm1', userId: 'nobody', createdAt: at(2) },
      'userId: unknown user',
    ],
    [
      { record: 'read', channelId: 'room', userId: 'ana', messageId: 'm1', createdAt: at(2) },
      'userId: not a member of the channel',
    ],
    ['x'.repeat(256 * 1024 + 1), 'expected at most 262144 bytes'],
    [message('m12', 'room', { createdAt: at(3) })],
  ]
  const body = lines.map(([given]) => (typeof given === 'string' ? given : JSON.stringify(given)))
  const answer = await post({ url: world().url, apiKey }, `${body.join('\n')}\n`)
  expect(answer.status).toBe(200)
  const refusals: { line: number; reason: string }[] = answer.body.refusals
  expect(refusals).toEqual(refusals.toSorted((a, b) => a.line - b.line))
  const reasons = new Map(refusals.map(({ line, reason }) => [line, reason]))
  for (const [index, [, reason]] of lines.entries()) {
    if (reason === undefined) expect(reasons.get(index + 1)).toBeUndefined()
    else expect(reasons.get(index + 1)).toContain(reason)
  }
  expect(answer.body).toMatchObject({
    lines: lines.length,
    isFinished: true,
    imported: { users: 1, channels: 1, members: 0, messages: 2, reactions: 0, pins: 0, reads: 0 },
    refused: lines.filter(([, reason]) => reason !== undefined).length,
  })
  await expectExactCounters({ db: world().db, appId })
})

test('no user sees what an unfinished import has brought until the next finishes it', async () => {
  const records = [
    user('ana'),
    channel('cut', { type: 'public' }),
    member('cut', 'ana'),
    message('c1', 'cut'),
    message('c2', 'cut', { createdAt: at(2) }),
  ]
  const whole = records.map(line).join('')
  const cut = await post(world(), whole.slice(0, -20))
  expect(cut.body).toMatchObject({ isFinished: false, refused: 1, imported: { messages: 1 } })
  const ana = await world().user('ana')
  const channelId = channelIdOf(world(), 'cut')
  await expect(ana.channels.get({ channelId })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect((await ana.channels.list({ discover: true })).channels).toEqual([])
  await world().cleanup.run()
  const again = await post(world(), whole)
  expect(again.body).toMatchObject({ isFinished: true, imported: { messages: 1 }, refused: 0 })
  expect(again.body.skipped).toMatchObject({ channels: 1, members: 1, messages: 1 })
  const { messages } = await ana.messages.list({ channelId })
  expect(messages.map(({ text, seq }) => [text, seq])).toEqual([
    ['c1', 1],
    ['c2', 2],
  ])
})

test('an import left unfinished for a week is deleted, and can be made again', async () => {
  const { db, appId, cleanup } = world()
  const records = [user('ana'), channel('left-open'), message('l1', 'left-open')]
  const whole = records.map(line).join('')
  await post(world(), `${whole}{`)
  const id = channelIdOf(world(), 'left-open')
  const leftFor = async (days: number) => {
    await db`
      update channels
      set updated_at = now() - ${days} * interval '1 day'
      where id = ${id} and app_id = ${appId}`
    await cleanup.run()
    return (await db`select id from channels where id = ${id}`).length
  }
  expect([await leftFor(6.9), await leftFor(7.1)]).toEqual([1, 0])
  expect([
    ...(await db`
      select key
      from imported_rows
      where channel_id = ${id}`),
  ]).toEqual([])
  const again = await post(world(), whole)
  expect(again.body).toMatchObject({ isFinished: true, imported: { channels: 1, messages: 1 } })
})

test('an empty import, and one that is no NDJSON, change nothing', async () => {
  for (const body of [undefined, '', '\n \n'])
    expect((await post(world(), body)).body).toMatchObject({ isFinished: false, refused: 0 })
  const json = await post(world(), JSON.stringify(user('zoe')), 'application/json')
  expect(json).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } })
  expect(json.body.error.message).toBe('body: expected Content-Type: application/x-ndjson')
  const text = await post(world(), line(user('zoe')), 'text/plain')
  expect(text.status).toBe(400)
  await expect(world().backend.users.get({ userId: 'zoe' })).rejects.toMatchObject({ status: 404 })
})

test('a second import of an app is refused while one runs, other apps have theirs', async () => {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let isTaken = () => {}
  const taken = new Promise<void>((resolve) => {
    isTaken = resolve
  })
  async function* slow() {
    yield line(user('first'))
    isTaken()
    await released
    yield line(user('last'))
  }
  const running = post(world(), ReadableStream.from(slow()) as never)
  await taken
  await expect.poll(() => world().db`select from imports`).toHaveLength(1)
  const second = await post(world(), line(user('second')))
  expect(second).toMatchObject({ status: 429, body: { error: { code: 'RATE_LIMITED' } } })
  const { apiKey } = await world().operator.apps.create({ name: 'Other' })
  const other = await importInto({ url: world().url, apiKey }, [user('second')])
  expect(other).toMatchObject({ isFinished: true, imported: { users: 1 } })
  // Other calls of the app go on.
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Live' })
  expect(await ana.messages.send({ channelId, text: 'Meanwhile' })).toMatchObject({ seq: 1 })
  release()
  expect((await running).body).toMatchObject({ isFinished: true, imported: { users: 2 } })
  expect(await importInto(world(), [user('second')])).toMatchObject({ imported: { users: 1 } })
})

test('ids name what their own app has imported, and nothing of another', async () => {
  const { id: appId, apiKey } = await world().operator.apps.create({ name: 'Theirs' })
  const theirs = { url: world().url, apiKey }
  await importInto(world(), [user('ana'), channel('shared'), message('s1', 'shared')])
  const report = await importInto(theirs, [
    user('ana'),
    message('s2', 'shared'),
    { record: 'pin', messageId: 's1', userId: 'ana', createdAt: at(2) },
    channel('shared'),
    message('s1', 'shared'),
  ])
  // In one batch, channels come before messages.
  expect(report).toMatchObject({ refused: 0, imported: { channels: 1, messages: 2, pins: 1 } })
  const ours = await world().backend.messages.list({ channelId: channelIdOf(world(), 'shared') })
  expect(ours.messages.map(({ text, pinned }) => [text, pinned])).toEqual([['s1', false]])
  const channelId = channelIdOf({ appId }, 'shared')
  await expect(world().backend.channels.get({ channelId })).rejects.toMatchObject({ status: 404 })
})

test('existing users and direct messages are left as they are', async () => {
  const dora = await world().user('dora')
  await world().backend.users.put({ userId: 'dora', name: 'Dora' })
  await world().user('emil')
  const live = await dora.channels.create({ type: 'messaging', memberIds: ['emil'] })
  const report = await importInto(world(), [
    user('dora', { name: 'Somebody' }),
    channel('theirs', { type: 'messaging', name: undefined, memberIds: ['emil', 'dora'] }),
  ])
  expect(report.refusals).toEqual([
    { line: 2, reason: 'memberIds: the two have a direct message already' },
  ])
  expect(await dora.users.get({ userId: 'dora' })).toMatchObject({ name: 'Dora' })
  expect((await dora.channels.list({})).channels.map(({ id }) => id)).toEqual([live.id])
})

test('a user deleted during an import leaves nothing but tombstones', async () => {
  const whole = [
    user('gone'),
    user('stays'),
    channel('left'),
    member('left', 'stays'),
    message('g1', 'left', { userId: 'gone', text: 'Secret' }),
    message('g2', 'left', { userId: 'stays', createdAt: at(2) }),
  ]
  await post(world(), `${whole.map(line).join('')}{"record"`)
  await world().backend.users.delete({ userId: 'gone' })
  await erased(world())
  const report = await importInto(world(), whole)
  expect(report.refusals).toEqual([{ line: 1, reason: 'id: the user was deleted' }])
  const stays = await world().user('stays')
  const channelId = channelIdOf(world(), 'left')
  const { messages } = await stays.messages.list({ channelId, since_seq: 0 })
  expect(messages.map(({ text, seq, deletedAt }) => [text, seq, deletedAt !== null])).toEqual([
    ['', 1, true],
    ['g2', 2, false],
  ])
  await expectExactCounters(world())
  // The user is erased again in the channels that came later.
  await erased(world())
  expect(
    await world().db`
      select
      from former_members
      where user_id = 'gone'`,
  ).toEqual([])
})
