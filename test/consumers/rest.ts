import createClient from 'openapi-fetch'
import type { paths } from './openapi.js'

/** What a developer may write with only openapi.json. */
export async function main(baseUrl: string, adminKey: string) {
  const client = createClient<paths>({ baseUrl })
  const app = data(
    await client.POST('/admin/apps', {
      headers: { 'X-Admin-Key': adminKey },
      body: { name: 'Generated' },
    }),
  )
  const minted = data(
    await client.POST('/tokens', {
      headers: { 'X-API-Key': app.apiKey },
      body: { userId: 'ana', name: 'Ana' },
    }),
  )
  client.use({
    onRequest: ({ request }) => request.headers.set('authorization', `Bearer ${minted.token}`),
  })
  const channel = data(
    await client.POST('/api/channels', { body: { type: 'group', name: 'Generated' } }),
  )
  const params = { path: { channelId: channel.id } }
  const sent = data(
    await client.POST('/api/channels/{channelId}/messages', { params, body: { text: 'Hello' } }),
  )
  const page = data(
    await client.GET('/api/channels/{channelId}/messages', {
      params: { ...params, query: { limit: 10 } },
    }),
  )
  const { error, response } = await client.GET('/api/channels/{channelId}', {
    params: { path: { channelId: sent.id } },
  })
  const code: 'NOT_FOUND' | undefined =
    error?.error.code === 'NOT_FOUND' ? error.error.code : undefined
  return {
    seq: sent.seq,
    texts: page.messages.map(({ text }) => text),
    refused: { code, status: response.status },
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
