import type { FetchOptions } from '@parley/server/jobs/previews/fetch'
import { afterAll, beforeAll } from 'vitest'
import { channelEventsOf } from './events.ts'
import { silentLog } from './jobs.ts'
import { serveNames } from './names.ts'
import { page, previewsFrom, servePages } from './pages.ts'
import { until } from './until.ts'
import { createWorld } from './world.ts'

/** A page with everything that a preview shows. */
export const article = page(`
  <title>Plain title</title>
  <meta property="og:title" content="Soup &amp; salad &#8211; caf&eacute;">
  <meta property="og:description" content="What to   cook
    tonight">
  <meta property="og:image" content="/soup.png">
  <meta property="og:site_name" content="Kitchen">
  <meta property="og:type" content="article">`)

type PreviewOptions = Pick<FetchOptions, 'perHost'> & { log?: typeof silentLog }

/** A channel of ana's in a world with previews, and a web server for the links in it. */
async function createScene({ log = silentLog, ...options }: PreviewOptions) {
  const web = await servePages({
    '/article': article,
    '/a': page('<title>A</title>'),
    '/b': page('<title>B</title>'),
    '/c': page('<title>C</title>'),
    '/d': page('<title>D</title>'),
  })
  // It knows no names: no site but `web` can be reached.
  const names = await serveNames({})
  // Nodes do not compare themselves with the event log, so sockets get only what they are sent.
  const world = await createWorld({
    timings: { reconcileMs: 600_000 },
    jobs: {
      log,
      previews: {
        ...previewsFrom(web),
        resolver: names.resolver,
        ...options,
      },
    },
  })
  const ana = await world.user('ana', { name: 'Ana' })
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const get = (messageId: string) => ana.messages.get({ channelId, messageId })
  return {
    web,
    names,
    world,
    ana,
    channelId,
    send: (text: string) => ana.messages.send({ channelId, text }),
    get,
    previewed: (messageId: string) => until(async () => (await get(messageId)).linkPreviews),
    titles: async (messageId: string) =>
      (await get(messageId)).linkPreviews?.map(({ title }) => title),
    /** Waits until no jobs are staged or queued, not even failed ones. */
    idle: () =>
      until(async () => {
        const [row] = await world.db<{ count: number }[]>`
          select (select count(*) from staged_jobs)::int
            + (select count(*) from graphile_worker.jobs)::int as count`
        return row?.count === 0
      }),
    updatesOf: async (messageId: string) => {
      const events = await channelEventsOf(world, channelId)
      return events.filter(
        ({ type, payload }) =>
          type === 'message.updated' && (payload.message as { id: string }).id === messageId,
      )
    },
    /** A page that answers when `answer` is called. */
    slowPage: (path: string, content: string) => {
      let answer = () => {}
      const requested = new Promise<void>((resolve) => {
        web.pages[path] = (response) => {
          answer = () => response.writeHead(200, { 'content-type': 'text/html' }).end(content)
          resolve()
        }
      })
      return { requested, answer: () => answer() }
    },
  }
}

/** The scene of a test file, made before its tests and stopped after them. */
export function usePreviews(options: PreviewOptions = {}) {
  let scene: Awaited<ReturnType<typeof createScene>> | undefined
  beforeAll(async () => {
    scene = await createScene(options)
  })
  afterAll(async () => {
    await scene?.world.stop()
    await scene?.web.stop()
    scene?.names.stop()
  })
  return () => {
    if (!scene) throw new Error('the scene exists only while tests run')
    return scene
  }
}
