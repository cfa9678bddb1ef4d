import { createClient } from './generated/client/index.js'
import * as api from './generated/sdk.gen.js'

/** The README's tour by a client that @hey-api/openapi-ts generated. */
export async function main(baseUrl: string, adminKey: string) {
  const as = (headers: Record<string, string>) => ({
    client: createClient({ baseUrl, headers }),
    throwOnError: true as const,
  })
  const { data: app } = await api.appsCreate({
    ...as({ 'X-Admin-Key': adminKey }),
    body: { name: 'Tour' },
  })
  const user = async (userId: string) => {
    const backend = as({ 'X-API-Key': app.apiKey })
    const { data } = await api.tokensCreate({ ...backend, body: { userId } })
    return as({ Authorization: `Bearer ${data.token}` })
  }
  const [ana, ben] = [await user('ana'), await user('ben')]
  const { data: channel } = await api.channelsCreate({
    ...ana,
    body: { type: 'group', name: 'Kitchen talk', memberIds: ['ben'] },
  })
  const path = { channelId: channel.id }
  const question = { text: 'Hello @ben, soup or salad?' }
  const { data: hello } = await api.messagesSend({ ...ana, path, body: question })
  const id: string = hello.id
  const { data: answer } = await api.messagesSend({
    ...ben,
    path,
    body: { text: 'Soup, please', parentId: id },
  })
  const parentId: string | null = answer.parentId
  const there = { channelId: channel.id, messageId: answer.id }
  const { data: reacted } = await api.reactionsAdd({ ...ana, path: there, body: { emoji: '🍲' } })
  await api.pinsPin({ ...ana, path: there })
  const { data: unread } = await api.readsUnreadCount(ben)
  const { data: page } = await api.messagesList({ ...ben, path, query: { limit: 20 } })
  const { data: read } = await api.readsMark({ ...ben, path })
  const { data: listed } = await api.channelsList(ben)
  const refused = await api.channelsGet({
    client: ana.client,
    path: { channelId: answer.id },
  })
  return {
    isReply: parentId === id,
    reactions: reacted.reactions.map(({ type, count }) => [type, count]),
    unread: unread.count,
    texts: page.messages.map(({ text }) => text),
    pinned: page.messages.map(({ pinned }) => pinned),
    lastReadSeq: read.lastReadSeq,
    left: listed.channels.map(({ unreadCount }) => unreadCount),
    refused: refused.error?.error.code,
  }
}
