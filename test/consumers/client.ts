import { type ChatError, createChatClient, isChatError, type Store } from '@parley/client'
import { createChatServer } from '@parley/client/server'

declare module '@parley/client' {
  interface CustomUser {
    plan?: 'free' | 'pro'
  }
  interface CustomMessage {
    orderId?: number
  }
}

/** Code that needs only the package: a backend, and a client in Node.js. */
export async function main(url: string, wsUrl: string, apiKey: string) {
  const server = createChatServer({ url, apiKey })
  const chat = createChatClient({
    url,
    token: async () => ({
      ...(await server.tokens.create({ userId: 'ana', custom: { plan: 'pro' } })),
      wsUrl,
    }),
  })
  await chat.connect()
  const { id, name } = await chat.api.channels.create({ type: 'group', name: 'Talk' })
  const plan: 'free' | 'pro' | undefined = (await chat.api.users.get({ userId: 'ana' })).custom.plan
  const ordering = { channelId: id, text: 'order', custom: { orderId: 7 } }
  const order = await server.as('ana').messages.send(ordering)
  const orderId: number | undefined = order.custom?.orderId
  if (orderId !== 7) throw new Error('the metadata of the message is missing')
  await server.as('ana').messages.delete({ channelId: id, messageId: order.id })
  const room = chat.channel(id)
  room.watch()
  // The channel's events come once it is subscribed to.
  await until(room.messages, ({ status }) => status === 'ready')
  const received: string[] = []
  const isReceived = new Promise<void>((resolve) => {
    chat.on('message.new', (event) => {
      received.push(event.payload.message.text)
      resolve()
    })
  })
  chat.on('*', (event) => {
    if (event.type === 'reaction.added') received.push(event.payload.reaction.type)
  })
  chat.on('message.new', (event) => chat.channel(event.channelId))
  const { sent } = room.send({ text: 'one' })
  const message = await sent
  await until(room.messages, ({ items }) => items[0]?.status === 'sent')
  await isReceived
  await room.react(message.id, '👍')
  const refusal = await chat.api.channels.get({ channelId: message.id }).then(
    () => undefined,
    (error: unknown): ChatError | undefined =>
      isChatError(error, 'NOT_FOUND') ? error : undefined,
  )
  // @ts-expect-error an operation of backends
  void chat.api.tokens
  chat.disconnect()
  return {
    name,
    plan,
    text: message.text,
    received: received[0],
    code: refusal?.code,
    status: refusal?.status,
  }
}

const until = <Snapshot>(store: Store<Snapshot>, isDone: (snapshot: Snapshot) => boolean) =>
  new Promise<void>((resolve) => {
    const check = () => {
      if (isDone(store.getSnapshot())) resolve()
    }
    store.subscribe(check)
    check()
  })
