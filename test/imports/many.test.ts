import type { ImportRecord } from '@parley/client/server'
import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { upTo } from '../support/events.ts'
import { withoutCleanup } from '../support/locks.ts'
import { useWorld } from '../support/world.ts'
import { at, channel, channelIdOf, importInto, member, message, post, user } from './records.ts'

const world = useWorld()
const linesOf = (records: ImportRecord[]) =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('')
/** As if the connection broke after these records. */
const importPart = (records: ImportRecord[]) => post(world(), `${linesOf(records)}{`)

test('an invalid line is refused, and the reason says what is wrong', async () => {
  const time = `2024-05-01T09:00:00.${'1'.repeat(200)}Z`
  const fields = Array.from({ length: 999 }, (_, n) => [`field${n}`, 1])
  const lines = [
    user('late', { createdAt: time }),
    { ...user('many'), ...Object.fromEntries(fields) },
  ]
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  const [late, many] = (await post(world(), body)).body.refusals
  expect(late.reason).toBe('createdAt: expected at most 9 digits of a second')
  expect(many.reason).toMatch(/^Unrecognized keys: "field0".*…$/)
  expect(many.reason).toHaveLength(limits.imports.reasonLength)
})

test('times of records have at most nine digits of a second', async () => {
  const timeOf = (digits: number) => `2024-05-01T09:00:00.${'1'.repeat(digits)}Z`
  const users = [9, 10, 40].map((digits) => user(`u${digits}`, { createdAt: timeOf(digits) }))
  const { body } = await post(world(), linesOf(users))
  expect(body.refusals.map(({ line }: { line: number }) => line)).toEqual([2, 3])
})

test('reactions and pins beyond the limit are refused, and the first ones are kept', async () => {
  const [kinds, pins] = [limits.reactionKinds, limits.pins]
  const by = { userId: 'ana', createdAt: at(60) }
  const reaction = (emoji: string): ImportRecord => ({
    ...{ record: 'reaction', messageId: 'loud1', emoji, ...by },
  })
  const pin = (messageId: string, minute: number): ImportRecord => ({
    ...{ record: 'pin', messageId, ...by, createdAt: at(minute) },
  })
  const report = await importInto(world(), [
    user('ana'),
    channel('loud'),
    ...upTo(pins + 1).map((n) => message(`loud${n}`, 'loud', { createdAt: at(n) })),
    ...upTo(kinds + 1).map((n) => reaction(`e${n}`)),
    ...upTo(pins + 1).map((n) => pin(`loud${n}`, n)),
  ])
  expect(report.imported).toMatchObject({ reactions: kinds + 1, pins: pins + 1 })
  expect(report.refusals.map(({ reason }) => reason)).toEqual([
    `emoji: a message can have at most ${kinds} kinds`,
    `messageId: a channel can have at most ${pins} pins`,
  ])
})

test('an imported channel is listed by its creation if its messages are older', async () => {
  await importInto(world(), [
    user('dee'),
    channel('moved', { createdAt: at(40) }),
    channel('quiet', { createdAt: at(20) }),
    ...['moved', 'quiet'].map((id) => member(id, 'dee')),
    message('older', 'moved'),
  ])
  const dee = await world().user('dee')
  const { channels } = await dee.channels.list({})
  expect(channels.map(({ name }) => name)).toEqual(['moved', 'quiet'])
})

test('any number of lines can be refused: all are counted, and the first are shown', async () => {
  const shown = limits.imports.refusalsShown
  // The last one that is shown is checked later than those after it.
  const checkedLast = JSON.stringify(member('nowhere', 'ana'))
  const before = `${JSON.stringify(user('ana'))}\n${'nonsense\n'.repeat(shown - 1)}`
  const { body } = await post(world(), `${before}${checkedLast}\n${'nonsense\n'.repeat(2)}`)
  expect(body.refused).toBe(shown + 2)
  expect(body.refusals).toHaveLength(shown)
  expect(body.refusals.at(-1)).toMatchObject({ line: shown + 1 })
})

test('the first of two records of a user counts, and times are compared as times', async () => {
  const report = await importInto(world(), [
    user('twice', { name: 'First' }),
    user('twice', { name: 'Second' }),
    channel('times'),
    message('root', 'times', { userId: 'twice', createdAt: '2024-05-01T09:00:00Z' }),
    message('reply', 'times', {
      userId: 'twice',
      parentId: 'root',
      createdAt: '2024-05-01T09:00:00.5Z',
    }),
  ])
  expect([report.refusals, report.skipped.users]).toEqual([[], 1])
  expect(await world().backend.users.get({ userId: 'twice' })).toMatchObject({ name: 'First' })
})

test('a reply is compared with its parent to the microsecond, as both are stored', async () => {
  const time = (micros: string) => ({ createdAt: `2024-05-01T09:00:00.${micros}Z` })
  const pair = (name: string, micros: string) => [
    message(`${name}-root`, 'exact', time('000900')),
    message(`${name}-reply`, 'exact', { parentId: `${name}-root`, ...time(micros) }),
  ]
  const before = [user('ana'), channel('exact'), message('late-root', 'exact', time('000900'))]
  await importPart(before)
  const records = [...before, ...pair('late', '000100').slice(1), ...pair('early', '000899')]
  const report = await importInto(world(), [...records, ...pair('same', '0009')])
  const reason = 'createdAt: expected no time before that of the parent'
  expect(report.refusals).toEqual([4, 6].map((line) => ({ line, reason })))
})

test('a direct message has its two members, and whoever began it owns it', async () => {
  const memberIds = ['pia', 'quin']
  const report = await importInto(world(), [
    ...[...memberIds, 'rob'].map((id) => user(id)),
    channel('pair', { type: 'messaging', name: undefined, memberIds, createdBy: 'quin' }),
    member('pair', 'rob'),
  ])
  expect(report.refusals).toEqual([
    { line: 5, reason: 'channelId: a direct message has two members' },
  ])
  const quin = await world().user('quin')
  const { members } = await quin.members.list({ channelId: channelIdOf(world(), 'pair') })
  expect(members.map(({ userId, role }) => `${userId} ${role}`).sort()).toEqual([
    'pia member',
    'quin owner',
  ])
})

test('a direct message that two begin during their import stays, and the import ends', async () => {
  const pair = [
    user('sam'),
    user('tom'),
    channel('both', { type: 'messaging', name: undefined, memberIds: ['sam', 'tom'] }),
    channel('rest'),
  ]
  await post(world(), `${pair.map((record) => `${JSON.stringify(record)}\n`).join('')}{"record"`)
  const sam = await world().user('sam')
  const { id } = await sam.channels.create({ type: 'messaging', memberIds: ['tom'] })
  const report = await importInto(world(), pair)
  expect(report).toMatchObject({ isFinished: true, refused: 1 })
  expect(report.refusals).toEqual([
    { line: 3, reason: 'memberIds: the two have a direct message already' },
  ])
  expect((await sam.channels.list({})).channels.map((channel) => channel.id)).toEqual([id])
})

test('the import of one file does not show the channels of another that is not whole', async () => {
  const part = [user('ana'), channel('half'), member('half', 'ana'), message('h1', 'half')]
  const whole = [...part, message('h2', 'half', { createdAt: at(2) })]
  const channelId = channelIdOf(world(), 'half')
  const cut = await importPart(part)
  expect(cut.body).toMatchObject({ isFinished: false, unfinishedChannelIds: [channelId] })
  const other = await importInto(world(), [channel('whole'), member('whole', 'ana')])
  expect(other).toMatchObject({ isFinished: true, unfinishedChannelIds: [channelId] })
  const ana = await world().user('ana')
  await expect(ana.channels.get({ channelId })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  const { name } = await ana.channels.get({ channelId: channelIdOf(world(), 'whole') })
  expect(name).toBe('whole')
  const again = await importInto(world(), whole)
  expect(again).toMatchObject({ isFinished: true, refused: 0, unfinishedChannelIds: [] })
  expect(again.imported).toMatchObject({ channels: 0, messages: 1 })
  expect((await ana.messages.list({ channelId })).messages).toHaveLength(2)
})

test('a reaction or pin of a deleted message is refused as such, not as too many', async () => {
  const by = { userId: 'uma', createdAt: at(3) }
  const records: ImportRecord[] = [
    user('ivo'),
    user('uma'),
    channel('marked'),
    message('mark1', 'marked', { userId: 'ivo' }),
    { record: 'reaction', messageId: 'mark1', emoji: '👍', ...by },
    { record: 'pin', messageId: 'mark1', ...by },
  ]
  await importPart(records)
  await world().backend.users.delete({ userId: 'ivo' })
  const { refusals } = await importInto(world(), records)
  const reason = 'messageId: the message or the user was deleted during the import'
  expect(refusals.slice(1)).toEqual([5, 6].map((line) => ({ line, reason })))
})

test('a reaction or pin of a deleted message does not count towards the limits', async () => {
  const by = { userId: 'uma', createdAt: at(60) }
  const mark = (emoji: string, userId = 'uma'): ImportRecord => ({
    ...{ record: 'reaction', messageId: 'full1', emoji, ...by, userId },
  })
  const numbers = upTo(limits.pins)
  const records: ImportRecord[] = [
    user('eve'),
    user('uma'),
    channel('full'),
    message('full0', 'full', { userId: 'eve' }),
    ...numbers.map((n) => message(`full${n}`, 'full', { userId: 'uma' })),
    mark('a', 'eve'),
    ...upTo(limits.reactionKinds).map((n) => mark(`b${n}`)),
    ...[0, ...numbers].map(
      (n): ImportRecord => ({ record: 'pin', messageId: `full${n}`, ...by, createdAt: at(n) }),
    ),
  ]
  await importPart(records)
  // The reaction of eve still waits.
  const report = await withoutCleanup(world(), async () => {
    await world().backend.users.delete({ userId: 'eve' })
    return importInto(world(), records)
  })
  const [reaction, pin] = ['reaction', 'pin'].map(
    (kind) => records.findIndex(({ record }) => record === kind) + 1,
  )
  // The marks that wait from the first part are refused once, at the end.
  expect(report.refusals.map(({ line }) => line)).toEqual([1, reaction, pin])
  const { reactions, pins } = report.skipped
  expect([report.refused, reactions, pins]).toEqual([
    ...[3, limits.reactionKinds + 1, limits.pins + 1],
  ])
})

test('records that an older server left of a channel that is shown are ignored', async () => {
  const { db, appId } = world()
  await importInto(world(), [user('ana'), channel('shown')])
  const id = channelIdOf(world(), 'shown')
  await db`
    insert into imported_rows (app_id, record, key, channel_id, line, "row")
    values (${appId}, 'channel', ${id}, ${id}, 1, '{}')`
  const report = await importInto(world(), [user('ben')])
  expect(report).toMatchObject({ isFinished: true, unfinishedChannelIds: [] })
})

test('the cleanup leaves a channel alone whose file is being sent again', async () => {
  const { db, appId, cleanup } = world()
  const records = [user('ana'), channel('old'), message('o1', 'old')]
  await importPart(records)
  const id = channelIdOf(world(), 'old')
  // A pass that an earlier test has begun would find the channel before it is sent again.
  await cleanup.run()
  await db`
    update channels
    set updated_at = now() - interval '8 days'
    where id = ${id}
      and app_id = ${appId}`
  await importPart(records)
  await cleanup.run()
  const report = await importInto(world(), records)
  expect(report).toMatchObject({ refused: 0, skipped: { channels: 1, messages: 1 } })
})
