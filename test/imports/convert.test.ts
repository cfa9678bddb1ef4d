import { sendbirdExport } from '@parley/server/commands/convert/sendbird'
import { streamExport } from '@parley/server/commands/convert/stream'
import { expect, test } from 'vitest'
import { useSharedWorld } from '../support/world.ts'
import { converted } from './converted.ts'
import { channelIdOf, post } from './records.ts'

const world = useSharedWorld()

const createdAt = '2024-05-01T09:30:00.123456Z'
const ana = { id: 'ana', name: 'Ana', role: 'user', created_at: createdAt, favourite: 'soup' }
const hidden = { devices: [{ id: 'token' }], push_notifications: {}, privacy_settings: {} }
const seen = { last_engaged_at: createdAt }
const ben = { id: 'ben', created_at: createdAt, invisible: true, banned: false, ...seen, ...hidden }

const streamEntities = [
  { type: 'user', item: ana },
  {
    type: 'channel',
    item: {
      ...{ id: 'kitchen', type: 'team', cid: 'team:kitchen', name: 'Kitchen', created_by: ana },
      ...{ created_at: createdAt, config: { replies: true }, floor: 2, description: 'Hot' },
    },
  },
  {
    type: 'member',
    item: {
      cid: 'team:kitchen',
      user_id: 'ana',
      channel_role: 'channel_moderator',
      created_at: createdAt,
    },
  },
  {
    type: 'message',
    item: {
      ...{ id: 'm2', cid: 'team:kitchen', user: ben, type: 'reply', text: 'Yes { "please" }' },
      ...{ parent_id: 'm1', created_at: '2024-05-01T09:32:00Z', latest_reactions: [] },
      reactions: [{ type: 'like', user: ana, user_id: 'ana', created_at: createdAt }],
    },
  },
  {
    type: 'message',
    item: {
      ...{ id: 'm1', cid: 'team:kitchen', user: ana, type: 'regular', text: 'Soup?' },
      ...{ created_at: '2024-05-01T09:31:00Z', pinned: true, pinned_by: ben, priority: 3 },
      attachments: [{ type: 'image', image_url: 'https://example.com/soup.png', title: 'Soup' }],
      latest_reactions: [{ type: 'love', user: ben, user_id: 'ben', created_at: createdAt }],
    },
  },
  // Only its author ever saw an ephemeral one.
  ...['deleted', 'ephemeral'].map((type) => ({
    type: 'message',
    item: { id: type, cid: 'team:kitchen', type, created_at: createdAt },
  })),
  { type: 'poll', item: { id: 'p1' } },
  // As in the samples of their documents: a moderator by a flag, authors by their ids.
  {
    type: 'member',
    item: {
      ...{ channel_type: 'team', channel_id: 'kitchen', user_id: 'ben', is_moderator: true },
      ...{ created_at: createdAt, notifications_muted: true, desk: 7 },
    },
  },
  {
    type: 'message',
    item: {
      ...{ id: 'm4', channel_type: 'team', channel_id: 'kitchen', user: 'ana', type: 'regular' },
      ...{ text: '', created_at: '2024-05-01T09:33:00Z' },
      attachments: [{ type: 'video', url: 'https://example.com/v', image_url: 'https://x.test/i' }],
    },
  },
]

test("an export of Stream's second version becomes records that can be imported", async () => {
  const text = streamEntities.map((entity) => JSON.stringify(entity)).join('\n')
  const { lines, problems } = await converted(streamExport, text)
  expect(problems).toEqual({
    'message: it was deleted': 1,
    'message: of type ephemeral': 1,
    'type poll: nothing like it here': 1,
  })
  const { body } = await post(world(), `${lines.join('\n')}\n`)
  const counts = { users: 2, channels: 1, members: 2, messages: 3, reactions: 2, pins: 1 }
  expect(body).toMatchObject({ refused: 0, isFinished: true, imported: counts })
  const reader = await world().user('ana')
  const channelId = channelIdOf(world(), 'team:kitchen')
  const channel = await reader.channels.get({ channelId })
  const facts = { type: 'private', description: 'Hot', custom: { floor: 2 }, role: 'moderator' }
  expect(channel).toMatchObject(facts)
  expect((await reader.messages.list({ channelId })).messages).toMatchObject([
    {
      ...{ text: 'Soup?', userId: 'ana', replyCount: 1, pinned: true, custom: { priority: 3 } },
      attachments: [{ url: 'https://example.com/soup.png', name: 'Soup' }],
      reactions: [{ type: 'love', count: 1 }],
    },
    { text: 'Yes { "please" }', userId: 'ben', reactions: [{ type: 'like' }] },
    { text: '', userId: 'ana', attachments: [{ type: 'video', url: 'https://example.com/v' }] },
  ])
  const { members } = await reader.members.list({ channelId })
  expect(members.find(({ userId }) => userId === 'ben')).toMatchObject({
    ...{ role: 'moderator', custom: { desk: 7 } },
  })
  expect(await reader.users.get({ userId: 'ben' })).toMatchObject({ custom: {} })
  expect(lines.join()).not.toMatch(/token|privacy_settings|invisible|last_engaged_at/)
  const profile = await reader.users.get({ userId: 'ana' })
  expect(profile).toMatchObject({ name: 'Ana', custom: { favourite: 'soup' } })
})

test("a quote of a reply in Stream's export is reported, since it may get lost", async () => {
  const place = { cid: 'team:kitchen', user: ana, created_at: createdAt, type: 'regular' }
  const messages = [
    { ...place, id: 'root' },
    { ...place, id: 'quotes-reply', quoted_message_id: 'reply' },
    { ...place, id: 'quotes-root', quoted_message_id: 'root' },
    { ...place, id: 'reply', parent_id: 'root', quoted_message_id: 'quotes-root' },
  ]
  const text = messages.map((item) => JSON.stringify({ type: 'message', item })).join('\n')
  const { problems } = await converted(streamExport, text)
  expect(problems).toEqual({ 'message: it quotes a reply, which may get lost': 1 })
})

test('a whole channel in one object becomes the same records', async () => {
  const [, channel, member, reply, root] = streamEntities.map(({ item }) => item)
  const whole = { channel, members: [member], messages: [reply, root], read: [] }
  const one = await converted(streamExport, JSON.stringify([whole]))
  const many = await converted(
    streamExport,
    streamEntities
      .slice(0, 5)
      .map((entity) => JSON.stringify(entity))
      .join('\n'),
  )
  expect(one.lines.toSorted()).toEqual(many.lines.toSorted())
})

const seconds = 1_714_555_800
/** A channel as files of messages have it, beside them; the other files of channels say less. */
const garage = {
  ...{ channel_url: 'sb_1', name: 'Garage', created_at: seconds, data: '{"a":1}' },
  ...{ custom_type: 'work', is_public: false, member_count: 2, freeze: false, is_ephemeral: false },
  ...{ is_broadcast: false, is_discoverable: false, sms_fallback_wait_seconds: -1 },
  ...{ sms_fallback_exclude_user_ids: [], last_message: { message_id: 4714 } },
  channel: { channel_url: 'sb_1', name: 'Garage', created_at: seconds, member_count: 2 },
}
const image = 'https://example.com/dan.png'

test("Sendbird's files of users, of messages and of channels become records", async () => {
  const cemThere = { user_id: 'cem', nickname: 'Cem', profile_url: '', phone_number: '+49 30 1' }
  const users = [{ ...cemThere, metadata: { plan: 'pro' } }]
  const members = [
    { user_id: 'cem', nickname: 'Cem', role: 'operator', state: 'joined' },
    { user_id: 'dan', nickname: 'Dan', role: '', state: 'joined', is_muted: true, read_ts: 5 },
    { user_id: 'eli', nickname: 'Eli', role: '', state: 'invited' },
  ]
  const channels = [
    { ...garage, members: [{ user_id: 'cem', name: 'Cem', is_active: true, is_bot: false }] },
    {
      ...{ channel_url: 'sb_2', name: '', created_at: seconds, is_public: true },
      members: [{ name: 'Dan', user_id: 'dan', is_active: true, image, is_bot: false }],
    },
  ]
  const time = seconds * 1_000 + 5
  const message = { channel_url: 'sb_1', created_at: time, user: { user_id: 'fay' }, file: {} }
  const messages = [
    {
      ...{ ...message, message_id: 4711, type: 'MESG', message: 'Tyres?', updated_at: 0 },
      reactions: [{ key: '👍', user_ids: ['cem', 'dan'], updated_at: time + 4 }],
    },
    { ...message, message_id: 4712, type: 'ADMM', message: 'Dan joined', user: undefined },
    {
      ...{ ...message, message_id: 4713, type: 'FILE', parent_message_id: 4711 },
      file: { url: 'https://example.com/a.png', name: 'a.png', type: 'image/png', size: 9 },
    },
    { ...message, message_id: 4714, type: 'MESG', message: 'No', is_removed: true },
    { ...message, message_id: 4715, type: 'MESG', message: 'Late', created_at: time * 1e6 },
  ]
  const files = [
    { active_users: users },
    { messages, channel: { ...garage, members } },
    { group_channels: channels },
  ]
  const parts = files.map((file) => JSON.stringify(file, null, 2))
  const all = await Promise.all(parts.map((part) => converted(sendbirdExport, part)))
  expect(all.map(({ problems }) => problems)).toEqual([
    {},
    {
      'member: invited, and has not joined': 1,
      'message: it was removed': 1,
      'message: without a valid created_at or channel_url': 1,
    },
    {},
  ])
  const { body } = await post(world(), `${all.flatMap(({ lines }) => lines).join('\n')}\n`)
  const counts = { users: 4, channels: 2, members: 3, messages: 3, reactions: 2 }
  expect(body).toMatchObject({ refused: 0, isFinished: true, imported: counts })
  const cem = await world().user('cem')
  expect(await cem.users.get({ userId: 'dan' })).toMatchObject({ name: 'Dan', custom: {} })
  expect((await cem.users.get({ userId: 'cem' })).custom).toEqual({ plan: 'pro' })
  const channelId = channelIdOf(world(), 'sb_1')
  const channel = await cem.channels.get({ channelId })
  const facts = { name: 'Garage', type: 'group', role: 'moderator' }
  expect(channel).toMatchObject({ ...facts, createdAt: '2024-05-01T09:30:00.000Z' })
  expect(channel.custom).toEqual({ data: '{"a":1}', custom_type: 'work' })
  expect((await cem.messages.list({ channelId })).messages).toMatchObject([
    { text: 'Tyres?', userId: 'fay', replyCount: 1, reactions: [{ type: '👍', count: 2 }] },
    { text: 'Dan joined', type: 'system', editedAt: null },
    { text: '', attachments: [{ type: 'image', name: 'a.png', size: 9 }] },
  ])
})

test("Sendbird's files of channels name members in fields of their own", async () => {
  const members = [{ name: 'Dan', user_id: 'dan', is_active: true, image, is_bot: false }]
  const text = JSON.stringify({ group_channels: [{ ...garage, members }] })
  const { lines } = await converted(sendbirdExport, text)
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { record: 'user', id: 'dan', name: 'Dan', image },
    { record: 'channel', id: 'sb_1' },
    { record: 'member', userId: 'dan', role: 'member' },
  ])
})

test('entities of a list are converted while the file is read', async () => {
  const user = (n: number) => ({ user_id: `user-${n}`, nickname: 'a "b] {' })
  const users = Array.from({ length: 100 }, (_, n) => user(n))
  const text = JSON.stringify({ next: 'x', users, open_channels: [garage] })
  const { lines, bytesBefore } = await converted(sendbirdExport, text)
  expect(lines).toHaveLength(101)
  expect(bytesBefore).toBeLessThan(100)
})
