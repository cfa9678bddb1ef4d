import type { Format } from '@parley/server/commands/convert/entities'
import { sendbirdExport } from '@parley/server/commands/convert/sendbird'
import { streamExport } from '@parley/server/commands/convert/stream'
import { USER_FIELDS } from '@parley/server/commands/convert/stream-fields'
import { expect, test } from 'vitest'
import { converted } from './converted.ts'

/** The records that objects of an export become, and how often it says which problem. */
async function recordsOf(format: Format, objects: object[]) {
  const text = objects.map((object) => JSON.stringify(object)).join('\n')
  const { lines, problems } = await converted(format, text)
  return { records: lines.map((line) => JSON.parse(line)), problems }
}
const createdAt = '2024-05-01T09:30:00.000Z'
const later = '2024-05-02T10:00:00.000Z'
const secondsOf = (time: string) => Date.parse(time) / 1_000

const kitchen = { id: 'kitchen', type: 'team', cid: 'team:kitchen', created_at: createdAt }
const inKitchen = { cid: 'team:kitchen', created_at: createdAt }
const soup = { ...inKitchen, id: 'm1', user: 'ana', type: 'regular', text: 'Soup?' }
const entity = (type: string, item: object) => ({ type, item })

test('records that were deleted at Stream are reported, and not imported', async () => {
  const { records, problems } = await recordsOf(streamExport, [
    entity('channel', { ...kitchen, deleted_at: later }),
    entity('member', { ...inKitchen, user_id: 'ben', deleted_at: later }),
    entity('message', { ...soup, deleted_at: later }),
  ])
  expect(records).toEqual([])
  expect(problems).toEqual({
    'channel: it was deleted': 1,
    'member: they have left': 1,
    'message: it was deleted': 1,
  })
})

test('messages that Stream hid from some members are counted, and shown to no one', async () => {
  const { records, problems } = await recordsOf(streamExport, [
    entity('message', { ...soup, restricted_visibility: ['ben'] }),
    entity('message', { ...soup, id: 'm2', shadowed: true }),
    entity('message', { ...soup, id: 'm3', restricted_visibility: [], shadowed: false }),
  ])
  expect(records).toMatchObject([{ record: 'message', id: 'm3' }])
  expect(records[0]).not.toHaveProperty('custom')
  expect(problems).toEqual({ 'message: hidden from some members': 2 })
})

test("read positions are kept from both versions of Stream's exports", async () => {
  const read = { user: { id: 'ana' }, last_read: later, last_read_message_id: 'm1' }
  const position = { record: 'read', channelId: 'team:kitchen', userId: 'ana', messageId: 'm1' }
  const expected = { ...position, createdAt: later }
  const whole = await recordsOf(streamExport, [{ channel: kitchen, read: [read] }])
  expect(whole.records).toContainEqual(expected)
  const alone = await recordsOf(streamExport, [entity('read', { ...inKitchen, ...read })])
  expect(alone.records).toEqual([expected])
  const unread = await recordsOf(streamExport, [entity('read', { ...inKitchen, user: 'ana' })])
  expect(unread).toEqual({
    records: [],
    problems: { 'read: without user, last_read or last_read_message_id': 1 },
  })
})

test('owners, frozen channels and files of Stream are kept as such', async () => {
  const file = {
    ...{ type: 'file', asset_url: 'https://example.com/menu.pdf', title: 'menu.pdf' },
    ...{ mime_type: 'application/pdf', file_size: 9_000, thumb_url: 'https://example.com/t.png' },
  }
  const { records } = await recordsOf(streamExport, [
    entity('channel', { ...kitchen, frozen: true }),
    entity('member', {
      ...{ ...inKitchen, user_id: 'ana', role: 'owner', channel_role: 'channel_member' },
    }),
    entity('message', { ...soup, attachments: [file] }),
  ])
  expect(records).toMatchObject([
    { record: 'channel', frozen: true },
    { record: 'member', userId: 'ana', role: 'owner' },
    {
      attachments: [
        {
          ...{ type: 'file', url: file.asset_url, name: 'menu.pdf', size: 9_000 },
          ...{ mimeType: 'application/pdf', thumbnailUrl: file.thumb_url },
        },
      ],
    },
  ])
})

test('moderators of Stream stay moderators, whichever field says so', async () => {
  const fields = [
    { channel_role: 'channel_moderator' },
    { channel_role: 'moderator' },
    { channel_role: 'channel_member', role: 'moderator' },
    { is_moderator: true },
    { channel_role: 'channel_member', role: 'member' },
  ]
  const members = fields.map((given, n) =>
    entity('member', { ...inKitchen, user_id: `user${n}`, ...given }),
  )
  const { records } = await recordsOf(streamExport, members)
  const roles = records.map(({ role }) => role)
  expect(roles).toEqual([...Array(4).fill('moderator'), undefined])
})

test("no field of Stream's users that others may not see becomes metadata", async () => {
  const marked = Object.fromEntries(USER_FIELDS.map((name) => [name, 'hush']))
  const user = { ...marked, id: 'ben', name: 'Ben', created_at: createdAt, image: '' }
  const { records } = await recordsOf(streamExport, [entity('user', { ...user, floor: 2 })])
  expect(records).toEqual([
    { record: 'user', id: 'ben', name: 'Ben', createdAt, custom: { floor: 2 } },
  ])
  for (const name of ['blocked_user_ids', 'mutes', 'devices', 'privacy_settings'])
    expect(USER_FIELDS).toContain(name)
})

const garage = { channel_url: 'sb_1', name: 'Garage', created_at: secondsOf(createdAt) }

test("no tokens of Sendbird's users become metadata", async () => {
  const secrets = { access_token: 'hush-1', session_tokens: ['hush-2'], phone_number: 'hush-3' }
  const { records } = await recordsOf(sendbirdExport, [
    { ...{ user_id: 'cem', nickname: 'Cem', metadata: { plan: 'pro' } }, ...secrets },
  ])
  expect(records).toEqual([{ record: 'user', id: 'cem', name: 'Cem', custom: { plan: 'pro' } }])
})

test("Sendbird's channels keep their types, and frozen ones stay frozen", async () => {
  const { records } = await recordsOf(sendbirdExport, [
    { ...garage, is_public: true, freeze: true },
    { ...garage, channel_url: 'sb_2', is_public: false, participant_count: 3 },
  ])
  expect(records).toMatchObject([
    { id: 'sb_1', type: 'public', frozen: true },
    { id: 'sb_2', type: 'livestream' },
  ])
  expect(records[1]).not.toHaveProperty('frozen')
})

test("Sendbird's operators become moderators, and members keep their join times", async () => {
  const members = [
    { user_id: 'cem', role: 'operator' },
    { user_id: 'dan', joined_ts: secondsOf(later) },
    { user_id: 'eli' },
  ]
  const { records } = await recordsOf(sendbirdExport, [
    { ...garage, operators: [{ user_id: 'dan' }], members },
  ])
  expect(records.filter(({ record }) => record === 'member')).toEqual([
    {
      ...{ record: 'member', channelId: 'sb_1', userId: 'cem', role: 'moderator' },
      joinedAt: createdAt,
    },
    {
      ...{ record: 'member', channelId: 'sb_1', userId: 'dan', role: 'moderator' },
      joinedAt: later,
    },
    {
      ...{ record: 'member', channelId: 'sb_1', userId: 'eli', role: 'member' },
      joinedAt: createdAt,
    },
  ])
})

test('messages of Sendbird keep all files, and no empty fields', async () => {
  const { records } = await recordsOf(sendbirdExport, [
    {
      ...{ message_id: 1, channel_url: 'sb_1', created_at: secondsOf(createdAt), type: 'FILE' },
      ...{ user: { user_id: 'cem' }, message: '', data: '', custom_type: '' },
      files: [
        { url: 'https://example.com/a.png', name: 'a.png', type: 'image/png' },
        { url: 'https://example.com/b.pdf', name: 'b.pdf' },
      ],
    },
  ])
  expect(records.at(-1)).toEqual({
    ...{ record: 'message', id: '1', channelId: 'sb_1', userId: 'cem', createdAt },
    attachments: [
      { type: 'image', url: 'https://example.com/a.png', name: 'a.png', mimeType: 'image/png' },
      { type: 'file', url: 'https://example.com/b.pdf', name: 'b.pdf' },
    ],
  })
})
