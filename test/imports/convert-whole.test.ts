import type { Format } from '@parley/server/commands/convert/entities'
import { sendbirdExport } from '@parley/server/commands/convert/sendbird'
import { streamExport } from '@parley/server/commands/convert/stream'
import { expect, test } from 'vitest'
import { converted } from './converted.ts'

const at = (minute: number) => new Date(Date.UTC(2024, 4, 1, 9, minute)).toISOString()
const secondsAt = (minute: number) => Date.parse(at(minute)) / 1_000

async function recordsOf(format: Format, objects: object[]) {
  const text = objects.map((object) => JSON.stringify(object)).join('\n')
  const { lines, problems } = await converted(format, text)
  expect(problems).toEqual({})
  return lines.map((line) => JSON.parse(line))
}
const messages = (...items: object[]) => items.map((item) => ({ type: 'message', item }))
const image = 'https://x.test/i.png'

test("each field of Stream's entities comes from the field that means the same", async () => {
  const of = { cid: 'team:kitchen', created_at: at(1), updated_at: at(50) }
  const ana = { id: 'ana', name: 'Ana', image, created_at: at(0), updated_at: at(51), desk: 1 }
  const channel = {
    ...{ id: 'kitchen', type: 'team', ...of, created_by: { id: 'ana' }, frozen: true, image },
    ...{ name: 'Kitchen', description: 'Hot', floor: 2, member_count: 9, team: 'x' },
  }
  const member = { ...of, user_id: 'ben', channel_role: 'channel_moderator', created_at: at(2) }
  const message = {
    ...{ ...of, id: 'm1', type: 'regular', user: { id: 'ben' }, text: 'Soup', silent: true },
    ...{ parent_id: 'm0', quoted_message_id: 'm9', message_text_updated_at: at(4), priority: 3 },
    ...{ pinned: true, pinned_by: { id: 'ana' }, pinned_at: at(5), created_at: at(3) },
    attachments: [
      {
        ...{ type: 'image', title: 'T', name: 'N', mime_type: 'image/png', file_size: 7 },
        ...{ asset_url: 'https://x.test/a', image_url: image, thumb_url: 'https://x.test/t' },
      },
      { title_link: 'https://x.test/link' },
    ],
    reactions: [{ type: 'love', user: { id: 'ana' }, created_at: at(6), updated_at: at(52) }],
  }
  const read = { ...of, user: { id: 'ben' }, last_read: at(7), last_read_message_id: 'm1' }
  const records = await recordsOf(streamExport, [
    ...Object.entries({ user: ana, channel, member, message, read }).map(([type, item]) => ({
      ...{ type, item },
    })),
  ])
  const channelId = 'team:kitchen'
  expect(records).toEqual([
    { record: 'user', id: 'ana', name: 'Ana', image, createdAt: at(0), custom: { desk: 1 } },
    { record: 'user', id: 'ben' },
    {
      ...{
        record: 'channel',
        id: channelId,
        type: 'private',
        name: 'Kitchen',
        image,
        frozen: true,
      },
      ...{ description: 'Hot', createdBy: 'ana', createdAt: at(1), custom: { floor: 2 } },
    },
    { record: 'member', channelId, userId: 'ben', role: 'moderator', joinedAt: at(2) },
    {
      ...{ record: 'message', id: 'm1', channelId, userId: 'ben', text: 'Soup', silent: true },
      ...{ parentId: 'm0', quotedMessageId: 'm9', createdAt: at(3), editedAt: at(4) },
      custom: { priority: 3 },
      attachments: [
        {
          ...{ type: 'image', url: 'https://x.test/a', name: 'T', mimeType: 'image/png', size: 7 },
          thumbnailUrl: 'https://x.test/t',
        },
        { type: 'file', url: 'https://x.test/link' },
      ],
    },
    { record: 'reaction', messageId: 'm1', userId: 'ana', emoji: 'love', createdAt: at(6) },
    { record: 'pin', messageId: 'm1', userId: 'ana', createdAt: at(5) },
    { record: 'read', channelId, userId: 'ben', messageId: 'm1', createdAt: at(7) },
  ])
})

test('what Stream does not say about a message is left out', async () => {
  const of = { cid: 'team:kitchen', user: 'ana', created_at: at(1) }
  const records = await recordsOf(
    streamExport,
    messages(
      { ...of, id: 'm1', pinned: true, pinned_by: 'ana', silent: false },
      { ...of, id: 'm2', pinned: false, pinned_by: 'ana' },
      { ...of, id: 'm3', type: 'system', user: { id: '' }, text: 'Ana joined' },
    ),
  )
  const common = { record: 'message', channelId: 'team:kitchen', createdAt: at(1), attachments: [] }
  expect(records).toEqual([
    { ...common, id: 'm1', userId: 'ana' },
    { ...common, id: 'm2', userId: 'ana' },
    { ...common, id: 'm3', type: 'system', text: 'Ana joined' },
    { record: 'pin', messageId: 'm1', userId: 'ana', createdAt: at(1) },
  ])
})

test("each field of Sendbird's entities comes from the field that means the same", async () => {
  const cem = { user_id: 'cem', nickname: 'Cem', profile_url: image, created_at: secondsAt(0) }
  const channel = {
    ...{ channel_url: 'sb', name: 'Garage', cover_url: image, created_at: secondsAt(1) },
    ...{ created_by: { user_id: 'cem', nickname: 'Cem' }, freeze: true, is_public: true },
    ...{ custom_type: 'work', operators: [{ user_id: 'dan' }] },
    members: [{ user_id: 'dan', nickname: 'Dan', joined_ts: secondsAt(2), state: 'joined' }],
  }
  const of = { channel: { channel_url: 'sb' }, created_at: secondsAt(3) }
  const sent = {
    ...{ ...of, message_id: 1, type: 'MESG', message: 'Tyres?', silent: true, data: 'd' },
    ...{ sender: { user_id: 'dan' }, parent_message_id: 0, updated_at: secondsAt(4) },
    reactions: [
      { key: '👍', user_ids: ['cem'], updated_at: secondsAt(5) },
      { key: '👎', user_ids: ['dan'] },
    ],
  }
  const file = { url: 'https://x.test/a', name: 'a', type: 'text/plain', size: 9 }
  const reply = { ...of, message_id: 2, type: 'FILE', user: { user_id: 'cem' }, files: [file] }
  const admin = { ...of, message_id: 3, type: 'ADMM', message: 'Hi', updated_at: 0 }
  const records = await recordsOf(sendbirdExport, [
    ...[{ ...cem, metadata: { plan: 'pro' }, phone_number: '1' }, channel],
    ...[sent, { ...reply, parent_message_id: 1 }, admin],
  ])
  const common = { record: 'message', channelId: 'sb', createdAt: at(3) }
  expect(records).toEqual([
    {
      ...{ record: 'user', id: 'cem', name: 'Cem', image, createdAt: at(0) },
      custom: { plan: 'pro' },
    },
    { record: 'user', id: 'dan', name: 'Dan' },
    {
      ...{ record: 'channel', id: 'sb', type: 'public', name: 'Garage', image, createdBy: 'cem' },
      ...{ frozen: true, createdAt: at(1), custom: { custom_type: 'work' } },
    },
    { record: 'member', channelId: 'sb', userId: 'dan', role: 'moderator', joinedAt: at(2) },
    {
      ...{ ...common, id: '1', userId: 'dan', text: 'Tyres?', silent: true, attachments: [] },
      ...{ editedAt: at(4), custom: { data: 'd' } },
    },
    { ...common, id: '3', type: 'system', text: 'Hi', attachments: [] },
    {
      ...{ ...common, id: '2', userId: 'cem', parentId: '1' },
      attachments: [
        { type: 'file', url: 'https://x.test/a', name: 'a', mimeType: 'text/plain', size: 9 },
      ],
    },
    { record: 'reaction', messageId: '1', userId: 'cem', emoji: '👍', createdAt: at(5) },
    { record: 'reaction', messageId: '1', userId: 'dan', emoji: '👎', createdAt: at(3) },
  ])
})
