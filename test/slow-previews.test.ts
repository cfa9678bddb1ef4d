import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { upTo } from './support/events.ts'
import { drained } from './support/idle.ts'
import { page } from './support/pages.ts'
import { usePreviews } from './support/previews.ts'
import { until } from './support/until.ts'
import type { World } from './support/world.ts'

const scene = usePreviews()

/** Pages that answer once they are released. `most` counts those that were open at once. */
function serveSlowPages({ web }: ReturnType<typeof scene>, paths: string[]) {
  const open = new Set<ServerResponse>()
  let [most, isReleased] = [0, false]
  const answer = (response: ServerResponse) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(page('<title>Slow</title>'))
  const answerOpen = () => {
    for (const response of open) answer(response)
    open.clear()
  }
  for (const path of paths)
    web.pages[path] = (response) => {
      if (isReleased) return answer(response)
      open.add(response)
      most = Math.max(most, open.size)
      response.on('close', () => open.delete(response))
    }
  return {
    open,
    most: () => most,
    answerOpen,
    release: () => {
      isReleased = true
      answerOpen()
    },
  }
}

/** Sends links as a user who talks alone. Returns a function that waits for all the previews. */
async function sendLinks(user: Awaited<ReturnType<World['user']>>, links: string[]) {
  const { id: channelId } = await user.channels.create({ type: 'group', name: 'Links' })
  const send = (text: string) => user.messages.send({ channelId, text })
  const sent = await Promise.all(links.map(send))
  return async () => {
    for (const { id: messageId } of sent)
      await until(async () => (await user.messages.get({ channelId, messageId })).linkPreviews)
  }
}

test("one user's slow links leave most of the concurrent previews to others", async () => {
  const { web, world, ana } = scene()
  const paths = Array.from({ length: 12 }, (_, index) => `/slow/${index}`)
  const slow = serveSlowPages(scene(), paths)
  const previewed = await sendLinks(
    ana,
    paths.map((path) => web.url + path),
  )
  await until(() => slow.most() > 0)
  const quick = await sendLinks(await world.user('ben'), [`${web.url}/d`])
  await quick()
  slow.release()
  await previewed()
  expect(slow.most()).toBeLessThanOrEqual(3)
})

test('users of two apps with the same id have a share of the previews each', async () => {
  const { web, world, ana } = scene()
  const paths = ['/late/1', '/late/2', '/late/3']
  const slow = serveSlowPages(scene(), paths)
  await sendLinks(
    ana,
    paths.map((path) => web.url + path),
  )
  await until(() => slow.open.size === 3)
  const namesake = await world.user('ana', {}, await world.stranger())
  const quick = await sendLinks(namesake, [`${web.url}/d`])
  await quick()
  // This preview did not wait for one of them to be given up.
  expect(slow.open.size).toBe(3)
  slow.release()
})

test('a link does not wait for the many slow ones of another app', async () => {
  const { web, world, ana } = scene()
  const app = await world.stranger()
  const names = upTo(15).map((n) => `user-${n}`)
  const paths = names.map((name) => [1, 2, 3].map((page) => `/${name}/${page}`))
  const slow = serveSlowPages(scene(), paths.flat())
  const sendSlow = async (name: string, index: number) =>
    sendLinks(
      await world.user(name, {}, app),
      (paths[index] ?? []).map((path) => web.url + path),
    )
  const sent = await Promise.all(names.map(sendSlow))
  await until(() => slow.open.size === 10)
  await drained(world)
  web.pages['/quick'] = page('<title>Quick</title>')
  const quick = await sendLinks(ana, [`${web.url}/quick`])
  await drained(world)
  // Ten are under way, ten more have been fetched, and the next fetch has it.
  for (const _ of ['those under way', 'those fetched']) {
    slow.answerOpen()
    await until(() => slow.open.size === 10)
  }
  await quick()
  const isRequested = (path: string) => web.requestsFor(path) > 0
  expect(paths.flat().filter(isRequested)).toHaveLength(10 + 10 + 10)
  slow.release()
  for (const previewed of sent) await previewed()
})
