import * as api from './generated/index.js'

/** The README's tour by a client that openapi-generator generated (typescript-fetch). */
export async function main(basePath: string, adminKey: string) {
  const as = (headers: Record<string, string>) => new api.Configuration({ basePath, headers })
  const app = await new api.AppsApi(as({ 'X-Admin-Key': adminKey })).appsCreate({
    appsCreateBody: { name: 'Tour' },
  })
  const user = async (userId: string) => {
    const backend = new api.TokensApi(as({ 'X-API-Key': app.apiKey }))
    const { token } = await backend.tokensCreate({ tokensCreateBody: { userId } })
    return as({ Authorization: `Bearer ${token}` })
  }
  const [ana, ben] = [await user('ana'), await user('ben')]
  const { id: channelId } = await new api.ChannelsApi(ana).channelsCreate({
    channelsCreateBody: { type: 'group', name: 'Kitchen talk', memberIds: ['ben'] },
  })
  const hello = await new api.MessagesApi(ana).messagesSend({
    channelId,
    messagesSendBody: { text: 'Hello @ben, soup or salad?' },
  })
  const id: string = hello.id
  const answer = await new api.MessagesApi(ben).messagesSend({
    channelId,
    messagesSendBody: { text: 'Soup, please', parentId: id },
  })
  const parentId: string | null = answer.parentId
  const there = { channelId, messageId: answer.id }
  const reacted = await new api.ReactionsApi(ana).reactionsAdd({
    ...there,
    reactionsAddBody: { emoji: '🍲' },
  })
  await new api.PinsApi(ana).pinsPin(there)
  const unread = await new api.ReadsApi(ben).readsUnreadCount()
  const page = await new api.MessagesApi(ben).messagesList({ channelId, limit: 20 })
  const read = await new api.ReadsApi(ben).readsMark({ channelId })
  const listed = await new api.ChannelsApi(ben).channelsList()
  return {
    isReply: parentId === id,
    reactions: reacted.reactions.map(({ type, count }) => [type, count]),
    unread: unread.count,
    texts: page.messages.map(({ text }) => text),
    pinned: page.messages.map(({ pinned }) => pinned),
    lastReadSeq: read.lastReadSeq,
    left: listed.channels.map(({ unreadCount }) => unreadCount),
    refused: await refusal(new api.ChannelsApi(ana).channelsGet({ channelId: answer.id })),
  }
}

async function refusal(call: Promise<unknown>) {
  const error = await call.catch((error: unknown) => error)
  if (!(error instanceof api.ResponseError)) throw new Error('not refused')
  return api.ApiErrorFromJSON(await error.response.json()).error.code
}
