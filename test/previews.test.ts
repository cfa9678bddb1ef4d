import { topics } from '@parley/contract'
import { sha256 } from '@parley/server/core/hash'
import { expect, onTestFinished, test } from 'vitest'
import { upTo } from './support/events.ts'
import { page } from './support/pages.ts'
import { article, usePreviews } from './support/previews.ts'
import { centrifugeOf, listen } from './support/realtime.ts'
import { until } from './support/until.ts'
import { createWorld } from './support/world.ts'

const scene = usePreviews()

test('a message with a link gets its preview in a single message.updated event', async () => {
  const { web, channelId, send, get, previewed, idle, updatesOf } = scene()
  const sent = await send(`look ${web.url}/article, good`)
  expect(sent.linkPreviews).toBeUndefined()
  const [preview] = await previewed(sent.id)
  expect(preview).toEqual({
    url: `${web.url}/article`,
    title: 'Soup & salad – café',
    description: 'What to cook tonight',
    image: `${web.url}/soup.png`,
    siteName: 'Kitchen',
    type: 'article',
  })
  await idle()
  const message = await get(sent.id)
  const updates = await updatesOf(sent.id)
  expect(updates.map(({ offset, payload }) => ({ offset, payload }))).toEqual([
    { offset: message.rev, payload: { channelId, message } },
  ])
})

test('a link in a message that grows has its preview once it ends', async () => {
  const { web, ana, channelId, previewed, titles } = scene()
  const { id: messageId } = await ana.messages.send({ channelId, text: '', streaming: true })
  await ana.streams.append({ channelId, messageId, at: 0, text: `see ${web.url}/a` })
  await ana.streams.finish({ channelId, messageId })
  await previewed(messageId)
  expect(await titles(messageId)).toEqual(['A'])
})

test('the first three different links outside code have previews, in order', async () => {
  const { web, send, previewed, titles } = scene()
  const { url } = web
  const other = url.replace('http', 'HTTP')
  const { id } = await send(
    `\`${url}/d\` ${url}/b ${url}/a ${url}/b ${other}/b (${url}/c). ${url}/d`,
  )
  expect((await previewed(id))[0]?.url).toBe(`${url}/b`)
  expect(await titles(id)).toEqual(['B', 'A', 'C'])
  const { id: last } = await send(`ftp://x.test/1 ftp://x.test/2 ftp://x.test/3 ${url}/a`)
  await previewed(last)
  expect(await titles(last)).toEqual(['A'])
})

test('a preview is cached for a day, and a miss for a minute', async () => {
  const { web, world, send, previewed, idle } = scene()
  web.pages['/once'] = page('<title>Once</title>')
  const first = await send(`${web.url}/once`)
  await previewed(first.id)
  const second = await send(`again ${web.url}/once`)
  await previewed(second.id)
  expect(web.requestsFor('/once')).toBe(1)
  await world.db`
    update link_previews
    set expires_at = expires_at - interval '1 day'
    where app_id = ${world.appId}`
  for (const _ of upTo(2)) {
    await previewed((await send(`${web.url}/once`)).id)
    expect(web.requestsFor('/once')).toBe(2)
  }
  web.pages['/empty'] = page('')
  await send(`${web.url}/nowhere ${web.url}/empty`)
  await until(() => web.requestsFor('/nowhere') + web.requestsFor('/empty') === 2)
  await idle()
  const missing = ['/nowhere', '/empty'].map((path) => sha256(web.url + path))
  const missed = await world.db<{ seconds: number }[]>`
    select extract(epoch from lp.expires_at - now())::int as seconds
    from link_previews lp
    where lp.preview is null
      and lp.url_hash = any(${missing}::text[])`
  expect(missed).toHaveLength(2)
  for (const { seconds } of missed) expect(seconds).toBeLessThanOrEqual(60)
})

test('subscribers on every node get one event as soon as a preview is made', async () => {
  const { web, world, ana, channelId, send, get, idle, slowPage } = scene()
  const other = await createWorld({
    databaseUrl: world.databaseUrl,
    timings: { reconcileMs: 600_000 },
  })
  onTestFinished(() => other.stop())
  const clients = [centrifugeOf(world, ana), centrifugeOf(other, ana)]
  onTestFinished(() => clients.forEach((client) => void client.disconnect()))
  const observers = await Promise.all(
    clients.map((client) => listen(client, topics.channel(world.appId, channelId))),
  )
  const slow = slowPage('/slow', article)
  const { id } = await send(`${web.url}/slow`)
  await slow.requested
  slow.answer()
  for (const observer of observers)
    await observer.until((events) =>
      events.some(({ envelope }) => envelope.type === 'message.updated'),
    )
  await idle()
  await send('after it')
  for (const observer of observers) await observer.untilType('message.new', 2)
  const message = await get(id)
  for (const observer of observers) {
    expect(observer.types).toEqual(['message.new', 'message.updated', 'message.new'])
    expect(observer.received[1]).toEqual({
      offset: message.rev,
      envelope: expect.objectContaining({ payload: { channelId, message } }),
    })
  }
})

test('no preview is staged for a message without links, nor with JOBS=off', async () => {
  const { web, world, send, idle } = scene()
  await idle()
  const before = await world.db`select last_value from staged_jobs_id_seq`
  await send('no links here, http is a protocol')
  await send('`https://example.com/code`')
  expect(await world.db`select last_value from staged_jobs_id_seq`).toEqual(before)

  const off = await createWorld()
  try {
    const ben = await off.user('ben')
    const channel = await ben.channels.create({ type: 'group', name: 'Quiet' })
    const sent = await ben.messages.send({ channelId: channel.id, text: `${web.url}/a` })
    await ben.messages.edit({ channelId: channel.id, messageId: sent.id, text: `${web.url}/b` })
    expect(await off.db`select * from staged_jobs`).toEqual([])
  } finally {
    await off.stop()
  }
})

test('a hanging page does not delay other previews', async () => {
  const { web, send, previewed, titles, slowPage } = scene()
  const slow = slowPage('/hanging', page('<title>Hanging</title>'))
  const hanging = await send(`${web.url}/hanging`)
  await slow.requested
  const quick = await send(`${web.url}/c quickly`)
  await previewed(quick.id)
  expect(await titles(hanging.id)).toBeUndefined()
  slow.answer()
  await previewed(hanging.id)
})

test('a page that only shows an image has a preview', async () => {
  const { web, send, previewed } = scene()
  web.pages['/image'] = page('<meta property="og:image" content="/soup.png">')
  const { id } = await send(`${web.url}/image`)
  expect(await previewed(id)).toMatchObject([{ title: null, image: `${web.url}/soup.png` }])
})

test('a job that names the message of another app fetches nothing', async () => {
  const { web, world, ana, channelId, send, previewed, idle } = scene()
  const { id: other } = await world.operator.apps.create({ name: 'Other' })
  web.pages['/foreign'] = page('<title>Foreign</title>')
  const { id } = await send(`${web.url}/foreign`)
  await previewed(id)
  await ana.messages.edit({ channelId, messageId: id, text: `${web.url}/foreign again` })
  await idle()
  const job = { appId: other, messageId: id }
  await world.db`
    insert into staged_jobs (task, payload)
    values ('preview', ${world.db.json(job)})`
  await idle()
  expect(web.requestsFor('/foreign')).toBe(1)
})

test('a video gets a preview from its URL when its site cannot be reached', async () => {
  const { world, send, previewed } = scene()
  const { id } = await send('https://youtu.be/dQw4w9WgXcQ?t=1 https://vimeo.com/76979871')
  expect(await previewed(id)).toEqual([
    {
      url: 'https://youtu.be/dQw4w9WgXcQ?t=1',
      title: expect.any(String),
      description: null,
      image: expect.stringContaining('dQw4w9WgXcQ'),
      siteName: 'YouTube',
      type: 'video',
      videoId: 'dQw4w9WgXcQ',
      embedUrl: 'https://www.youtube.com/embed/dQw4w9WgXcQ',
    },
    expect.objectContaining({
      siteName: 'Vimeo',
      type: 'video',
      videoId: '76979871',
      embedUrl: 'https://player.vimeo.com/video/76979871',
    }),
  ])
  const cached = await world.db<{ seconds: number }[]>`
    select extract(epoch from lp.expires_at - now())::int as seconds
    from link_previews lp
    where lp.preview->>'type' = 'video'`
  expect(cached).toHaveLength(2)
  for (const { seconds } of cached) expect(seconds).toBeLessThanOrEqual(60)
})
