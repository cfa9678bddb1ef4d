import createClient from 'openapi-fetch'
import type { paths } from './openapi.js'

/** The README's tour by a developer who has only openapi.json. */
export async function main(baseUrl: string, adminKey: string) {
  const as = (headers: Record<string, string>) => createClient<paths>({ baseUrl, headers })
  const app = data(
    await as({ 'X-Admin-Key': adminKey }).POST('/admin/apps', { body: { name: 'Tour' } }),
  )
  const user = async (userId: string) => {
    const backend = as({ 'X-API-Key': app.apiKey })
    const { token } = data(await backend.POST('/tokens', { body: { userId } }))
    return as({ Authorization: `Bearer ${token}` })
  }
  const [ana, ben] = [await user('ana'), await user('ben')]
  const { id: channelId } = data(
    await ana.POST('/api/channels', {
      body: { type: 'group', name: 'Kitchen talk', memberIds: ['ben'] },
    }),
  )
  const messages = '/api/channels/{channelId}/messages'
  const params = { path: { channelId } }
  const question = { text: 'Hello @ben, soup or salad?' }
  const hello = data(await ana.POST(messages, { params, body: question }))
  const id: string = hello.id
  const reply = { text: 'Soup, please', parentId: id }
  const answer = data(await ben.POST(messages, { params, body: reply }))
  const parentId: string | null = answer.parentId
  const answerParams = { path: { channelId, messageId: answer.id } }
  const reacted = data(
    await ana.POST('/api/channels/{channelId}/messages/{messageId}/reactions', {
      params: answerParams,
      body: { emoji: '🍲' },
    }),
  )
  data(
    await ana.POST('/api/channels/{channelId}/messages/{messageId}/pin', { params: answerParams }),
  )
  const unread = data(await ben.GET('/api/channels/unread-count'))
  const page = data(await ben.GET(messages, { params: { ...params, query: { limit: 20 } } }))
  const read = data(await ben.POST('/api/channels/{channelId}/read', { params }))
  const listed = data(await ben.GET('/api/channels'))
  const { error } = await ana.GET('/api/channels/{channelId}', {
    params: { path: { channelId: answer.id } },
  })
  const refused: 'NOT_FOUND' | undefined =
    error?.error.code === 'NOT_FOUND' ? error.error.code : undefined
  return {
    isReply: parentId === id,
    reactions: reacted.reactions.map(({ type, count }) => [type, count]),
    unread: unread.count,
    texts: page.messages.map(({ text }) => text),
    pinned: page.messages.map(({ pinned }) => pinned),
    lastReadSeq: read.lastReadSeq,
    left: listed.channels.map(({ unreadCount }) => unreadCount),
    refused,
  }
}

function data<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}

/** Mistakes that do not compile. */
export const mistakes = (client: ReturnType<typeof createClient<paths>>) => [
  // @ts-expect-error a channel has a type
  () => client.POST('/api/channels', { body: { name: 'Generated' } }),
  // @ts-expect-error a path has its parameters
  () => client.GET('/api/channels/{channelId}'),
  // @ts-expect-error there is no such path
  () => client.GET('/api/polls'),
]
