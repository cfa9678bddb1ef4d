import { createHmac } from 'node:crypto'
import { topics, webhookEvents } from '@parley/contract'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { serveNames } from '../support/names.ts'
import { answering, type Received } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { textOf, useWebhooks } from './fixture.ts'

const { current, startWorker, newScene } = useWebhooks()

/** Whether the secret is one of those that the delivery was signed with. */
function isSignedWith(secret: string, { body, headers }: Received) {
  try {
    return new Webhook(secret).verify(body, headers) !== undefined
  } catch {
    return false
  }
}

/** The same without a library, as docs/webhooks.md says it. */
function isSignedByHand(secret: string, { body, headers }: Received) {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const signature = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
  const isRecent = Math.abs(Date.now() / 1_000 - Number(headers['webhook-timestamp'])) < 300
  return isRecent && headers['webhook-signature']?.split(' ').includes(signature)
}

test('each durable event reaches a webhook, signed, in the order of its channel', async () => {
  const { db } = current().world
  const { appId, ana, send, receive, newChannel, received, secret } = await newScene('*')
  const channelId = await newChannel()
  const { id: messageId } = await send('one', channelId)
  const ref = { channelId, messageId }
  await ana.messages.edit({ ...ref, text: 'two' })
  await ana.reactions.add({ ...ref, emoji: '👍' })
  await ana.reactions.remove({ ...ref, emoji: '👍' })
  await ana.pins.pin(ref)
  await ana.channels.updateSettings({ channelId, starred: true })
  await ana.members.remove({ channelId, userId: 'ben' })
  await ana.channels.delete({ channelId })
  const logged = await db<{ topic: string; offset: number; type: string }[]>`
    select e.topic, e."offset", e.type
    from events e
    where e.topic like ${`%:${appId}:%`}
      and e.created_at >= (select active_since from webhooks where app_id = ${appId})
    order by e.topic, e."offset"`
  startWorker()
  await receive(logged.length)

  const own = received().filter(({ data }) => data.channelId === channelId && 'rev' in data)
  const topic = topics.channel(appId, channelId)
  expect(own.map(({ type, data }) => [type, data.rev])).toEqual(
    logged.filter((event) => event.topic === topic).map(({ type, offset }) => [type, offset]),
  )
  expect(own.length).toBeGreaterThanOrEqual(8)
  expect(received()).toHaveLength(logged.length)
  const users = received().filter(({ data }) => !('rev' in data))
  expect(new Set(users.map(({ type }) => type))).toEqual(
    new Set(['channel.added', 'channel.removed', 'channel.settings_changed']),
  )
  expect(users.map(({ data }) => data.userId)).toContain('ben')
  for (const each of received()) {
    expect(isSignedWith(secret, each)).toBe(true)
    expect(each).toMatchObject({ appId, timestamp: new Date(each.timestamp).toISOString() })
    const schema = webhookEvents[each.type as keyof typeof webhookEvents]
    expect(schema.safeParse(each.data).error).toBeUndefined()
    expect(each.data.via).toBe('backend')
  }
  const ids = received().map(({ headers }) => headers['webhook-id'])
  expect(new Set(ids).size).toBe(ids.length)
})

test('a webhook is sent the events that it asks for, and none of another app', async () => {
  const other = await newScene('*')
  const { ana, send, receive, received, channelId, deliveries } = await newScene('reaction.*')
  const { id: messageId } = await send('one')
  const theirs = { channelId: other.channelId, messageId: (await other.send('theirs')).id }
  await other.ana.reactions.add({ ...theirs, emoji: '👍' })
  await ana.reactions.add({ channelId, messageId, emoji: '👍' })
  startWorker()
  await receive(1)
  await until(() => other.received().some(({ type }) => type === 'reaction.added'))
  expect(received().map(({ type }) => type)).toEqual(['reaction.added'])
  await until(async () => (await deliveries())[0]?.status === 'delivered')
  expect(await deliveries()).toEqual([
    expect.objectContaining({
      eventType: 'reaction.added',
      status: 'delivered',
      attempts: 1,
      responseStatus: 204,
      error: null,
      nextAttemptAt: null,
    }),
  ])
})

test('a message deleted before its delivery is sent without its text', async () => {
  const { ana, send, receive, received, channelId } = await newScene()
  const { id: messageId } = await send('a secret')
  await ana.messages.delete({ channelId, messageId })
  startWorker()
  await receive(2)
  expect(received().map(({ type }) => type)).toEqual(['message.deleted', 'message.deleted'])
  expect(received().map(({ body }) => body.includes('a secret'))).toEqual([false, false])
})

test('a message deleted after a hundred edits is sent without any of its texts', async () => {
  const { ana, send, receive, received, channelId } = await newScene()
  const { id: messageId } = await send('a secret')
  const edits = Array.from({ length: 101 }, (_, index) => `a secret ${index}`)
  for (const text of edits) await ana.messages.edit({ channelId, messageId, text })
  await ana.messages.delete({ channelId, messageId })
  startWorker()
  await receive(edits.length + 2)
  expect(new Set(received().map(({ type }) => type))).toEqual(new Set(['message.deleted']))
  expect(received().filter(({ body }) => body.includes('a secret'))).toEqual([])
})

test('events while a webhook is disabled are not sent when it is enabled again', async () => {
  const { backend, webhookId, path, send, texts, receive } = await newScene()
  // Another webhook of the app, for which the events of all that time are collected.
  const { receiver } = current()
  const other = `${path}/other`
  await backend.webhooks.create({ url: `${receiver.url}${other}`, events: ['message.*'] })
  await send('before')
  startWorker()
  await receive(1)
  await backend.webhooks.update({ webhookId, enabled: false })
  await send('meanwhile')
  await until(() => receiver.at(other).length === 2)
  await backend.webhooks.update({ webhookId, enabled: true })
  await send('after')
  await receive(2)
  expect(texts()).toEqual(['before', 'after'])
})

test('for a day after a rotation both secrets sign, and then only the new one', async () => {
  const { db } = current().world
  const { appId, backend, webhookId, secret, receive, received } = await newScene()
  startWorker()
  const rotated = await backend.webhooks.rotate({ webhookId })
  expect(rotated.secret).not.toBe(secret)
  for (const [index, hours] of [23, 1].entries()) {
    await db`
      update webhooks
      set previous_secret_expires_at = previous_secret_expires_at - ${hours} * interval '1 hour'
      where app_id = ${appId}`
    await backend.webhooks.test({ webhookId })
    await receive(index + 1)
  }
  for (const isSigned of [isSignedWith, isSignedByHand]) {
    const signedWith = (key: string) => received().map((each) => isSigned(key, each))
    expect([signedWith(secret), signedWith(rotated.secret)]).toEqual([
      [true, false],
      [true, true],
    ])
  }
})

test('a test is sent whatever the events of the webhook are', async () => {
  const { appId, backend, webhookId, receive } = await newScene('workspace.removed')
  startWorker()
  await backend.webhooks.test({ webhookId })
  const [test] = await receive(1)
  expect(test).toMatchObject({ type: 'webhook.test', appId, data: { webhookId } })
})

test('events that were committed late, or while no worker ran, are sent too', async () => {
  const { db } = current().world
  const { appId, channelId, send, receive, texts } = await newScene()
  await db`
    update webhooks
    set active_since = now() - interval '5 hours'
    where app_id = ${appId}`
  const insertPast = (offset: number, text: string, ago: string) => db`
    insert into events (topic, "offset", type, envelope, created_at)
    values (
      ${topics.channel(appId, channelId)}, ${offset}, 'message.new',
      ${JSON.stringify({ type: 'message.new', payload: { message: { text } } })},
      now() - ${ago}::interval
    )`
  await insertPast(901, 'during a break', '2 hours')
  const collectedUntil = (ago: string) => db`
    insert into service (key, value)
    values ('webhooks_collected_until', (now() - ${ago}::interval)::text)
    on conflict (key) do update
    set value = excluded.value`
  await collectedUntil('3 hours')
  startWorker()
  await send('now')
  await receive(2)
  await insertPast(902, 'late', '20 seconds')
  await receive(3)
  expect(texts().slice().sort()).toEqual(['during a break', 'late', 'now'])
})

test('a webhook whose host has a private address or none is not sent anything', async () => {
  const names = await serveNames({ 'shop.test': ['127.0.0.1'] })
  try {
    const { backend, webhookId, deliveries } = await newScene()
    startWorker({ resolver: names.resolver })
    const errorOf = async (url: string) => {
      await backend.webhooks.update({ webhookId, url })
      const { id } = await backend.webhooks.test({ webhookId })
      const sent = async () => (await deliveries()).find((one) => one.id === id && one.error)
      return (await until(sent)).error
    }
    expect(await errorOf('http://shop.test/')).toBe('not public: shop.test')
    expect(await errorOf('http://gone.test/')).toBe('no address found: gone.test')
  } finally {
    names.stop()
  }
})

/** This many pieces of 64 KiB are more than the buffers between two sockets have room for. */
const LONG = 2_000

test('a redirect is not followed, and a long answer is cut', async () => {
  const { receiver } = current()
  const { path, send, receive, deliveries, texts } = await newScene()
  let pieces = 0
  receiver.answerWith((response, one) => {
    if (textOf(one) === 'redirected')
      return answering(307, { location: `${receiver.url}${path}/other` })(response, one)
    response.writeHead(200)
    const write = () => {
      if (!response.writable) return
      if (pieces++ < LONG) response.write(Buffer.alloc(2 ** 16), write)
      else response.end()
    }
    return write()
  })
  startWorker()
  await send('long')
  await receive(1)
  const status = async () => (await deliveries()).map((each) => each.status)
  await until(async () => (await status()).includes('delivered'))
  expect(pieces).toBeLessThan(LONG)
  await send('redirected')
  const failed = await until(async () => (await deliveries()).find(({ error }) => error))
  expect(failed).toMatchObject({
    responseStatus: 307,
    error: 'answered 307: redirects are not followed',
  })
  expect(receiver.at(`${path}/other`)).toEqual([])
  expect(texts()[0]).toBe('long')
})
