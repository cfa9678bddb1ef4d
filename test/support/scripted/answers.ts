import type { Channel, ChannelChanges, Message } from '@parley/client'
import { type ScriptedChannel, timeOf, userOf } from './channel.ts'
import type { OnlineUsers } from './online.ts'

/** The data of the server. */
export type ScriptedData = {
  me: string
  channels: Map<string, ScriptedChannel>
  online: OnlineUsers
  total: number
  /** The number of the last snapshot that a total was read from: each has a higher one. */
  snapshot: number
  settingsVersion: number
}

type Asked = { request: string; body: Record<string, unknown> }
type Context = { data: ScriptedData; query: URLSearchParams; body: Asked['body'] }
type Answer = (context: Context, ...ids: [string, string, string]) => object

const DEFAULT_LIMIT = 50

/** The routes that the client uses, with their answers. */
const routes: [RegExp, Answer][] = [
  [/^GET \/api\/channels$/, ({ data, query }) => listOf(data, query)],
  [
    /^GET \/api\/channels\/unread-count$/,
    ({ data }) => {
      const { totalUnread: count, totalUnreadVersion: version } = totalOf(data)
      return { count, version }
    },
  ],
  [
    /^POST \/api\/sync$/,
    ({ data, body }) => ({
      channels: changesOf(data, body),
      more: false,
      settingsVersion: data.settingsVersion,
      ...(body.total === true && totalOf(data)),
      ...(Array.isArray(body.userIds) && { users: body.userIds.map((id) => presenceOf(data, id)) }),
    }),
  ],
  [
    /^GET \/api\/users$/,
    ({ data, query }) => ({
      users: (query.get('ids') ?? '').split(',').map((id) => presenceOf(data, id)),
      nextCursor: null,
    }),
  ],
  [/^GET \/api\/users\/([^/]+)$/, ({ data }, id) => presenceOf(data, decodeURIComponent(id))],
  [
    /^GET \/api\/channels\/([^/]+)\/messages$/,
    ({ data, query }, id) => {
      const { messages } = existing(data, id)
      const roots = messages.filter(({ parentId }) => parentId === null)
      return pageOf(query.get('replies') === 'false' ? roots : messages, query)
    },
  ],
  [
    /^GET \/api\/channels\/([^/]+)\/messages\/([^/]+)$/,
    ({ data }, id, messageId) => existing(data, id).find(messageId),
  ],
  [
    /^GET \/api\/channels\/([^/]+)\/messages\/([^/]+)\/replies$/,
    ({ data, query }, id, parentId) => {
      const replies = existing(data, id).messages.filter((each) => each.parentId === parentId)
      return pageOf(replies, query)
    },
  ],
  [
    /^GET \/api\/channels\/([^/]+)\/members$/,
    ({ data }, id) => ({ members: existing(data, id).members }),
  ],
  [
    /^GET \/api\/channels\/([^/]+)\/receipts\/read-status$/,
    ({ data }, id) => ({
      members: [...existing(data, id).reads].map(([userId, lastReadSeq]) => ({
        userId,
        lastReadSeq,
      })),
    }),
  ],
  [
    /^GET \/api\/channels\/([^/]+)\/pins(?:\?|$)/,
    ({ data }, id) => ({ messages: pinsOf(data, id) }),
  ],
  [
    /^POST \/api\/channels\/([^/]+)\/messages$/,
    ({ data, body }, id) => {
      const channel = existing(data, id)
      const [clientId, text] = [String(body.clientId), String(body.text)]
      const parentId = body.parentId === undefined ? '' : String(body.parentId)
      const known = channel.messages.find((message) => message.clientId === clientId)
      return known ?? channel.send(text, { by: data.me, parentId, clientId })
    },
  ],
  [
    /^POST \/api\/channels\/([^/]+)\/messages\/batch$/,
    ({ data, body }, id) => {
      const channel = existing(data, id)
      const drafts = body.messages as { clientId: string; text: string; parentId?: string }[]
      const results = drafts.map(({ clientId, text, parentId = '' }) => {
        const known = channel.messages.find((message) => message.clientId === clientId)
        return { message: known ?? channel.send(text, { by: data.me, parentId, clientId }) }
      })
      return { results }
    },
  ],
  [
    /^PATCH \/api\/channels\/([^/]+)\/messages\/([^/]+)$/,
    ({ data, body }, id, messageId) => existing(data, id).edit(messageId, String(body.text)),
  ],
  [
    /^DELETE \/api\/channels\/([^/]+)\/messages\/([^/]+)$/,
    ({ data }, id, messageId) => done(existing(data, id).delete(messageId)),
  ],
  [
    /^POST \/api\/channels\/([^/]+)\/messages\/([^/]+)\/reactions$/,
    ({ data, body }, id, messageId) =>
      done(existing(data, id).react(messageId, String(body.emoji), data.me)),
  ],
  [
    /^DELETE \/api\/channels\/([^/]+)\/messages\/([^/]+)\/reactions\/([^/]+)$/,
    ({ data }, id, messageId, emoji) =>
      done(existing(data, id).unreact(messageId, decodeURIComponent(emoji), data.me)),
  ],
  [
    /^POST \/api\/channels\/([^/]+)\/messages\/([^/]+)\/pin$/,
    ({ data }, id, messageId) => done(existing(data, id).pin(messageId, data.me)),
  ],
  [
    /^DELETE \/api\/channels\/([^/]+)\/messages\/([^/]+)\/pin$/,
    ({ data }, id, messageId) => done(existing(data, id).unpin(messageId)),
  ],
  [
    /^POST \/api\/channels\/([^/]+)\/read$/,
    ({ data, body }, id) => {
      const channel = existing(data, id)
      const { messages, own, reads } = channel
      const upTo = messages.find((each) => each.id === body.messageId)?.seq ?? messages.length
      channel.read(data.me, Math.max(upTo, reads.get(data.me) ?? 0))
      own.unreadCount = messages.slice(reads.get(data.me)).filter(isUnread(data)).length
      const { unreadCount, unreadVersion } = own
      return { ...done(), lastReadSeq: reads.get(data.me), unreadCount, unreadVersion }
    },
  ],
  [/^POST \/api\/channels\/([^/]+)\/typing$/, () => done()],
]

/** The answer to a request, from what is true at this moment. */
export function answerOf(data: ScriptedData, { request, body }: Asked): object {
  const [path = '', search = ''] = request.split('?')
  for (const [pattern, answer] of routes) {
    const [, ...ids] = pattern.exec(path) ?? [undefined]
    const context = { data, query: new URLSearchParams(search), body }
    if (pattern.test(path)) return answer(context, ids[0] ?? '', ids[1] ?? '', ids[2] ?? '')
  }
  throw new Error(`the scripted server has no answer to ${request}`)
}

const presenceOf = ({ online }: ScriptedData, id: string) => ({
  ...userOf(id),
  online: online.has(id),
  presenceVersion: online.versions.get(id) ?? 0,
  lastActiveAt: timeOf(0),
})

const done = (_effect?: unknown) => ({ success: true })

const isUnread =
  ({ me }: ScriptedData) =>
  ({ userId, deletedAt }: Message) =>
    userId !== me && deletedAt === null

function existing({ channels }: ScriptedData, id: string) {
  const channel = channels.get(id)
  if (!channel) throw new Error(`there is no channel ${id}`)
  return channel
}

const totalOf = (data: ScriptedData) => {
  data.snapshot += 1
  return { totalUnread: data.total, totalUnreadVersion: data.snapshot }
}

const activityOf = ({ lastMessage, createdAt }: Channel) => lastMessage?.createdAt ?? createdAt

function listOf(data: ScriptedData, query: URLSearchParams) {
  const { channels, settingsVersion } = data
  const offset = Number(query.get('offset') ?? 0)
  const end = offset + Number(query.get('limit') ?? DEFAULT_LIMIT)
  const all = [...channels.values()]
    .map((channel) => channel.record())
    .sort((a, b) => activityOf(b).localeCompare(activityOf(a)) || b.id.localeCompare(a.id))
  return {
    channels: all.slice(offset, end),
    ...(all.length > end && { more: true }),
    settingsVersion,
    ...(query.get('total') === 'true' && totalOf(data)),
  }
}

function pageOf(all: Message[], query: URLSearchParams) {
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT)
  const [before, after] = [query.get('before'), query.get('after')]
  const newer = after === null ? all : all.filter(({ id }) => id > after)
  const wanted = (before === null ? newer : all.filter(({ id }) => id < before)).filter(
    ({ deletedAt }) => deletedAt === null,
  )
  const messages = after === null ? wanted.slice(-limit) : wanted.slice(0, limit)
  return { messages, hasMore: wanted.length > messages.length }
}

const pinsOf = (data: ScriptedData, id: string) =>
  [...existing(data, id).pins].reverse().map(([messageId, pinned]) => ({
    ...existing(data, id).find(messageId),
    ...pinned,
  }))

type Synced = { channels: Record<string, number>; pages: string[]; members: string[] }

function changesOf(data: ScriptedData, body: Asked['body']) {
  const { channels, pages, members } = body as Synced // as the client sends it
  return Object.fromEntries(
    Object.entries(channels).map(([id, since]): [string, ChannelChanges] => {
      const channel = data.channels.get(id)
      if (!channel) return [id, { removed: true }]
      const changes = {
        rev: channel.rev,
        channel: channel.record(),
        messages: channel.messages.filter(({ rev }) => rev > since),
        ...(pages.includes(id) && { page: pageOf(channel.messages, new URLSearchParams()) }),
        ...(members.includes(id) && { members: membersOf(data, channel) }),
      }
      return [id, changes]
    }),
  )
}

const membersOf = (data: ScriptedData, { members, reads }: ScriptedChannel) =>
  members.map((member) => {
    const { online, presenceVersion, lastActiveAt } = presenceOf(data, member.userId)
    const lastReadSeq = reads.get(member.userId) ?? 0
    return { ...member, lastReadSeq, online, presenceVersion, lastActiveAt }
  })
