import { once } from 'node:events'
import { createServer } from 'node:http'
import { createChatServer, verifyWebhook, type WebhookEvent } from '@parley/client/server'

type BackendOptions = {
  url: string
  apiKey: string
  port: number
  /** Where Parley reaches this backend. */
  publicUrl: (port: number) => string
}
const BOT = 'order-bot'

/** The backend of a shop: each order has a channel, in which a bot answers its customer. */
export async function startBackend({ url, apiKey, port, publicUrl }: BackendOptions) {
  const parley = createChatServer({ url, apiKey })
  let secret = ''
  /** Webhooks come at least once. Keep these for a day, where they survive a restart. */
  const seen = new Set<string>()

  const receiver = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    try {
      const { headers } = request
      const event = await verifyWebhook({ headers, body: Buffer.concat(chunks) }, secret)
      response.writeHead(204).end() // answer first, work later
      const id = String(headers['webhook-id'])
      if (!seen.has(id)) await handle(event)
      seen.add(id)
    } catch (error) {
      if (!response.headersSent) response.writeHead(400).end()
      else console.error('no answer', error)
    }
  })

  const handle = async ({ type, data }: WebhookEvent) => {
    if (type !== 'message.new' || data.message.type === 'system') return
    const { userId, text, id } = data.message
    if (userId === BOT) return
    const { custom } = await parley.channels.get({ channelId: data.channelId })
    const out = parley.as(BOT).stream(data.channelId, { clientId: `answer-${id}` })
    for (const word of answerTo(text, custom).split(/(?<= )/)) await out.write(word)
    await out.end()
  }

  /** Where a model goes. */
  const answerTo = (question: string, order: Record<string, unknown> = {}) =>
    `You asked: "${question}" Order ${order.orderId} is packed and leaves our house today.`

  /** A channel for an order, with the customer and the bot, and a first word from the shop. */
  const openOrder = async (orderId: number, customerId: string) => {
    const channel = await parley.channels.create({
      type: 'private',
      name: `Order ${orderId}`,
      memberIds: [BOT, customerId],
      custom: { orderId },
      clientId: `order-${orderId}`,
    })
    await parley.messages.send({
      channelId: channel.id,
      text: `Thanks for order ${orderId}. Ask us here.`,
      clientId: `thanks-${orderId}`,
    })
    return channel
  }

  receiver.listen(port)
  await once(receiver, 'listening')
  const address = receiver.address()
  const actualPort = typeof address === 'object' && address ? address.port : port
  await parley.users.sync({ users: [{ id: BOT, name: 'Shop' }] })
  const webhook = await parley.webhooks.create({
    url: publicUrl(actualPort),
    events: ['message.new'],
  })
  secret = webhook.secret
  const stop = async () => {
    await parley.webhooks.delete({ webhookId: webhook.id })
    receiver.close()
  }
  return { openOrder, stop }
}
