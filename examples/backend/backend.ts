import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { createChatServer, verifyWebhook, type WebhookEvent } from '@parley/client/server'

type BackendOptions = {
  url: string
  apiKey: string
  port: number
  /** Where Parley reaches this backend. */
  publicUrl: (port: number) => string
  /** The folder of events that were not handled yet: a table of your database. */
  inbox: string
}
const BOT = 'order-bot'

/** The backend of a shop: each order has a channel, in which a bot answers its customer. */
export async function startBackend(options: BackendOptions) {
  const { url, apiKey, port, publicUrl, inbox } = options
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
      const id = String(headers['webhook-id'])
      // Keep first, then answer, then work: what was answered is not sent again.
      const isNew = !seen.has(id)
      if (isNew) await writeFile(join(inbox, id), JSON.stringify(event))
      seen.add(id)
      response.writeHead(204).end()
      if (isNew) await handleKept(id)
    } catch {
      response.writeHead(400).end()
    }
  })

  /** What fails stays in the inbox until the next start. */
  const handleKept = async (id: string) => {
    try {
      await handle(JSON.parse(await readFile(join(inbox, id), 'utf8')))
      await rm(join(inbox, id))
    } catch (error) {
      console.error('no answer', error)
    }
  }

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

  await mkdir(inbox, { recursive: true })
  const left = await readdir(inbox)
  receiver.listen(port)
  await once(receiver, 'listening')
  const address = receiver.address()
  const webhookUrl = publicUrl(typeof address === 'object' && address ? address.port : port)
  await parley.users.sync({ users: [{ id: BOT, name: 'Shop' }] })
  // The webhook of the last start has the events that happened since: it only gets a new secret.
  const { webhooks } = await parley.webhooks.list({})
  const known = webhooks.find((webhook) => webhook.url === webhookUrl)
  const { secret: newSecret } = known
    ? await parley.webhooks.rotate({ webhookId: known.id })
    : await parley.webhooks.create({ url: webhookUrl, events: ['message.new'] })
  secret = newSecret
  // Parley disables a webhook that has failed for five days. What it sends twice is answered once.
  if (known && !known.enabled) {
    const { id: webhookId, failingSince, createdAt } = known
    await parley.webhooks.update({ webhookId, enabled: true })
    await parley.webhooks.replay({ webhookId, since: failingSince ?? createdAt })
  }
  for (const id of left) await handleKept(id)
  return { openOrder, stop: () => receiver.close() }
}
