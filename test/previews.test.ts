import { afterAll, beforeAll, expect, test } from 'vitest'
import { channelEventsOf } from './support/events.ts'
import { page, servePages } from './support/pages.ts'
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
let world: World
let ana: User
let channelId: string
beforeAll(async () => {
  web = await servePages({ '/article': article, '/a': page('<title>A</title>'), '/b': page('<title>B</title>'), '/c': page('<title>C</title>'), '/d': page('<title>D</title>') })
  world = await createWorld({ jobs: { previews: { allowedHosts: [web.host] } } })
  ana = await world.user('ana', { name: 'Ana' })
  channelId = (await ana.channels.create({ type: 'group', name: 'Talk' })).id
})
afterAll(async () => {
  await world.stop()
  await web.stop()
})

const send = (text: string) => ana.messages.send({ channelId, text })
const get = (messageId: string) => ana.messages.get({ channelId, messageId })
const previewed = (messageId: string) => until(async () => (await get(messageId)).linkPreviews)
const titles = async (messageId: string) => (await get(messageId)).linkPreviews?.map(({ title }) => title)
/** Nothing is left to be done. */
const idle = () =>
  until(async () => {
    const [row] = await world.db<{ count: number }[]>`select (select count(*) from staged_jobs)::int + (select count(*) from graphile_worker.jobs)::int as count`
    return row?.count === 0
  })
const updatesOf = async (messageId: string) =>
  (await channelEventsOf(world, channelId)).filter(({ type, payload }) => type === 'message.updated' && (payload.message as { id: string }).id === messageId)

test('a message with a link gets its preview, once, and the channel is told', async () => {
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
  expect(updates.map(({ offset, payload }) => ({ offset, payload }))).toEqual([{ offset: message.rev, payload: { channelId, message } }])
})
