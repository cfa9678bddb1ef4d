import { once } from 'node:events'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { createChatServer, isChatError, verifyWebhook } from '@parley/client/server'

type BackendOptions = Parameters<typeof createChatServer>[0] & {
  port: number
  /** Where Parley reaches that port. */
  webhookUrl: string
  /** The folder of events that were not handled yet: a table of your database. */
  inbox: string
}
const BOT = 'order-bot'

/** The backend of a shop: each order has a channel, in which a bot answers its customer. */
export async function startBackend({ port, webhookUrl, inbox, ...server }: BackendOptions) {
  const parley = createChatServer(server)
  const bot = parley.as(BOT)
  await mkdir(inbox, { recursive: true })
  const left = await readdir(inbox)
  /** Webhooks come at least once. Keep these for a day, where they survive a restart. */
  const seen = new Set(left)
  let work: Promise<unknown> = Promise.resolve()
  let secret = ''
  const receiver = createServer(async (request, response) => {
    try {
      const { headers } = request
      const event = await verifyWebhook({ headers, body: await buffer(request) }, secret)
      const id = String(headers['webhook-id'])
      // Keep it, as a whole, then answer, then work: what was answered is not sent again.
      const isNew = !seen.has(id)
      if (isNew) await writeFile(`${inbox}.${id}`, JSON.stringify(event))
      if (isNew) await rename(`${inbox}.${id}`, `${inbox}/${id}`)
      seen.add(id)
      response.writeHead(204).end()
      if (isNew) work = Promise.allSettled([work, handle(id, true)]).then(() => {})
    } catch {
      response.writeHead(400).end()
    }
  })

  /** What fails stays in the inbox until the next start, unless it would be refused again. */
  const handle = async (eventId: string, isFirstTry: boolean) => {
    try {
      const { message } = JSON.parse(await readFile(`${inbox}/${eventId}`, 'utf8')).data
      if (message?.type === 'regular' && message.userId !== BOT) {
        const { channelId, id, text } = message
        const { custom } = await parley.channels.get({ channelId })
        await reply(answerTo(text, custom), { channelId, clientId: `answer-${id}`, isFirstTry })
      }
      await rm(`${inbox}/${eventId}`)
    } catch (error) {
      console.error('no answer', error)
      if (isChatError(error) && !error.retryable) await rm(`${inbox}/${eventId}`, { force: true })
    }
  }
  /** Where a model goes. */
  const answerTo = (question: string, order: Record<string, unknown> = {}) =>
    `You asked: "${question}" Order ${order.orderId} is packed and leaves our house today.`
  type About = { channelId: string; clientId: string; isFirstTry: boolean }
  const reply = async (text: string, { channelId, clientId, isFirstTry }: About) => {
    const out = bot.stream(channelId, { clientId })
    const { id: messageId, text: begun, streaming } = await out.message
    // What a crash has interrupted is said as a whole, and what was said already stays.
    if (!isFirstTry || begun !== '' || !streaming)
      return bot.messages.edit({ channelId, messageId, text })
    for (const word of text.split(/(?<= )/)) await out.write(word)
    return out.end()
  }

  /** A channel for an order, with the customer and the bot, and a first word from the shop. */
  const openOrder = async (orderId: number, customerId: string) => {
    await parley.users.sync({ users: [{ id: BOT, name: 'Shop' }, { id: customerId }] })
    const about = { name: `Order ${orderId}`, custom: { orderId }, clientId: `order-${orderId}` }
    const memberIds = [BOT, customerId]
    const channel = await parley.channels.create({ type: 'private', memberIds, ...about })
    const text = `Thanks for order ${orderId}. Ask us here.`
    await parley.messages.send({ channelId: channel.id, text, clientId: `thanks-${orderId}` })
    return channel
  }

  await once(receiver.listen(port), 'listening')
  // The webhook of the last start has the events that happened since: it only gets a new secret.
  const known = (await parley.webhooks.list({})).webhooks.find((one) => one.url === webhookUrl)
  const webhook = known
    ? await parley.webhooks.rotate({ webhookId: known.id })
    : await parley.webhooks.create({ url: webhookUrl, events: ['message.new'] })
  secret = webhook.secret
  if (known && !known.enabled) {
    // It failed for five days; events are kept for one. What is sent again is answered once.
    await parley.webhooks.update({ webhookId: known.id, enabled: true })
    const kept = new Date(Date.now() - 23 * 3_600_000).toISOString()
    const failing = known.failingSince ?? known.createdAt
    await parley.webhooks.replay({ webhookId: known.id, since: failing > kept ? failing : kept })
  }
  for (const id of left) await handle(id, false)
  return { openOrder, stop: () => once(receiver.close(), 'close').then(() => work) }
}
