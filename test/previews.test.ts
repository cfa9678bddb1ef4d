import { topics } from '@parley/contract'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { channelEventsOf } from './support/events.ts'
import { serveNames } from './support/names.ts'
import { page, servePages } from './support/pages.ts'
import { centrifugeOf, listen } from './support/realtime.ts'
import { until } from './support/until.ts'
import { createWorld, type User, type World } from './support/world.ts'

const article = page(`
  <title>Plain title</title>
  <meta property="og:title" content="Soup &amp; salad &#8211; caf&eacute;">
  <meta property="og:description" content="What to   cook
    tonight">
  <meta property="og:image" content="/soup.png">
  <meta property="og:site_name" content="Kitchen">
  <meta property="og:type" content="article">`)

let web: Awaited<ReturnType<typeof servePages>>
/** It knows no names: no site but `web` can be reached. */
let names: Awaited<ReturnType<typeof serveNames>>
let world: World
let ana: User
let channelId: string
beforeAll(async () => {
  web = await servePages({
    '/article': article,
    '/a': page('<title>A</title>'),
    '/b': page('<title>B</title>'),
    '/c': page('<title>C</title>'),
    '/d': page('<title>D</title>'),
  })
  names = await serveNames({})
  // Nodes do not compare themselves with the event log, so sockets get only what they are sent.
  world = await createWorld({
    timings: { reconcileMs: 600_000 },
    jobs: { previews: { allowedHosts: [web.host], resolver: names.resolver } },
  })
  ana = await world.user('ana', { name: 'Ana' })
  channelId = (await ana.channels.create({ type: 'group', name: 'Talk' })).id
})
afterAll(async () => {
  await world.stop()
  await web.stop()
  names.stop()
})

const send = (text: string) => ana.messages.send({ channelId, text })
const get = (messageId: string) => ana.messages.get({ channelId, messageId })
const previewed = (messageId: string) => until(async () => (await get(messageId)).linkPreviews)
const titles = async (messageId: string) =>
  (await get(messageId)).linkPreviews?.map(({ title }) => title)
/** Waits until no jobs are staged or queued, not even failed ones. */
const idle = () =>
  until(async () => {
    const [row] = await world.db<{ count: number }[]>`
      select (select count(*) from staged_jobs)::int
        + (select count(*) from graphile_worker.jobs)::int as count`
    return row?.count === 0
  })
async function updatesOf(messageId: string) {
  const events = await channelEventsOf(world, channelId)
  return events.filter(
    ({ type, payload }) =>
      type === 'message.updated' && (payload.message as { id: string }).id === messageId,
  )
}

test('a message with a link gets its preview in a single message.updated event', async () => {
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

test('the first three different links outside code have previews, in order', async () => {
  const { id } = await send(
    `\`${web.url}/d\` ${web.url}/b ${web.url}/a ${web.url}/b (${web.url}/c). ${web.url}/d`,
  )
  await previewed(id)
  expect(await titles(id)).toEqual(['B', 'A', 'C'])
})

test('a preview is cached for a day, and a miss for a minute', async () => {
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
  await previewed((await send(`${web.url}/once`)).id)
  expect(web.requestsFor('/once')).toBe(2)
  await send(`${web.url}/nowhere`)
  await until(() => web.requestsFor('/nowhere') === 1)
  await idle()
  const [missed] = await world.db<{ seconds: number }[]>`
    select extract(epoch from lp.expires_at - now())::int as seconds
    from link_previews lp
    where lp.preview is null`
  expect(missed?.seconds).toBeLessThanOrEqual(60)
})

/** A page that answers when `answer` is called. */
function slowPage(path: string, content: string) {
  let answer = () => {}
  const requested = new Promise<void>((resolve) => {
    web.pages[path] = (response) => {
      answer = () => response.writeHead(200, { 'content-type': 'text/html' }).end(content)
      resolve()
    }
  })
  return { requested, answer: () => answer() }
}

test('subscribers on every node get one event as soon as a preview is made', async () => {
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

test('a message deleted while its link is fetched gets no preview', async () => {
  const slow = slowPage('/deleted', page('<title>Late</title>'))
  const { id } = await send(`${web.url}/deleted`)
  await slow.requested
  await ana.messages.delete({ channelId, messageId: id })
  slow.answer()
  await idle()
  const { messages } = await ana.messages.list({ channelId, since_seq: 0 })
  expect(messages.find((message) => message.id === id)).toMatchObject({
    text: '',
    deletedAt: expect.any(String),
  })
  expect(messages.find((message) => message.id === id)).not.toHaveProperty('linkPreviews')
  expect(await updatesOf(id)).toEqual([])
})

test('nothing of its preview is left of a deleted message', async () => {
  web.pages['/plans'] = page('<title>Hidden plans</title>')
  const { id: messageId } = await send(`${web.url}/plans`)
  const before = (await ana.channels.get({ channelId })).rev
  await previewed(messageId)
  await idle()
  await ana.messages.delete({ channelId, messageId })
  const stored = await world.db<{ row: string }[]>`
    select msg::text as row from messages msg
    union all
    select e::text from events e`
  const answers = [
    await ana.messages.list({ channelId }),
    await ana.messages.list({ channelId, since_seq: 0 }),
    await ana.sync.pull({ channels: { [channelId]: before } }),
    await ana.channels.get({ channelId }),
  ]
  const shown = [...stored.map(({ row }) => row), ...answers.map((each) => JSON.stringify(each))]
  expect(shown.filter((text) => /Hidden plans|\/plans/.test(text))).toEqual([])
  expect(JSON.stringify(answers[2])).toContain(messageId)
})

test('a message edited while its link is fetched gets the previews of its new text', async () => {
  const slow = slowPage('/old', page('<title>Old</title>'))
  const { id } = await send(`${web.url}/old`)
  await slow.requested
  await ana.messages.edit({ channelId, messageId: id, text: `rather ${web.url}/a` })
  await previewed(id)
  slow.answer()
  await idle()
  expect(await titles(id)).toEqual(['A'])
  expect(await updatesOf(id)).toHaveLength(2)
})

test('an edit removes at once the previews of links it removes, and keeps the others', async () => {
  const { id } = await send(`${web.url}/a ${web.url}/b`)
  await previewed(id)
  const edited = await ana.messages.edit({ channelId, messageId: id, text: `only ${web.url}/b` })
  expect(edited.linkPreviews?.map(({ title }) => title)).toEqual(['B'])
  expect(await ana.messages.edit({ channelId, messageId: id, text: 'none' })).not.toHaveProperty(
    'linkPreviews',
  )
  await idle()
  expect(await updatesOf(id)).toHaveLength(3)
})

test('a message whose channel is deleted while its link is fetched is not updated', async () => {
  const gone = await ana.channels.create({ type: 'group', name: 'Gone' })
  const slow = slowPage('/gone', page('<title>Gone</title>'))
  await ana.messages.send({ channelId: gone.id, text: `${web.url}/gone` })
  await slow.requested
  await ana.channels.delete({ channelId: gone.id })
  slow.answer()
  await idle()
  expect((await channelEventsOf(world, gone.id)).at(-1)?.type).toBe('channel.deleted')
})

test('a preview job that runs twice updates the message once', async () => {
  const { id } = await send(`${web.url}/a twice`)
  await previewed(id)
  const job = world.db.json({ appId: world.appId, messageId: id })
  await world.db`
    insert into staged_jobs (task, payload)
    select 'preview', ${job}
    from generate_series(1, 2)`
  await idle()
  expect(await updatesOf(id)).toHaveLength(1)
})

test('no preview is staged for a message without links, nor with JOBS=off', async () => {
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
  const slow = slowPage('/hanging', page('<title>Hanging</title>'))
  const hanging = await send(`${web.url}/hanging`)
  await slow.requested
  const quick = await send(`${web.url}/c quickly`)
  await previewed(quick.id)
  expect(await titles(hanging.id)).toBeUndefined()
  slow.answer()
  await previewed(hanging.id)
})

test('a video gets a preview from its URL when its site cannot be reached', async () => {
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
