import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { stopClock } from './support/clock.ts'
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
    release: () => {
      isReleased = true
      for (const response of open) answer(response)
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

test("one user's slow links leave most of the previews at once to others", async () => {
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

test('an app has all previews at once, but fewer once its links were slow', async () => {
  const { web, world } = scene()
  const clock = stopClock()
  const app = await world.stranger()
  const names = ['cid', 'dan', 'eve', 'fay']
  const users = await Promise.all(names.map((name) => world.user(name, {}, app)))
  const sendSlow = async (name: string) => {
    const folders = users.map((_, index) => `${web.url}/${name}/${index}`)
    const links = folders.map((folder) => [1, 2, 3].map((page) => `${folder}/${page}`))
    const slow = serveSlowPages(
      scene(),
      links.flat().map((link) => new URL(link).pathname),
    )
    const sent = await Promise.all(users.map((user, index) => sendLinks(user, links[index] ?? [])))
    const previewed = () => Promise.all(sent.map((previewed) => previewed()))
    return { ...slow, previewed }
  }
  const first = await sendSlow('first')
  await until(() => first.open.size === 10)
  clock.putForward(1_001)
  first.release()
  await first.previewed()

  const second = await sendSlow('second')
  await until(() => second.open.size === 6)
  const quick = await sendLinks(await world.user('gus'), [`${web.url}/d`])
  await quick()
  expect(second.most()).toBe(6)
  second.release()
  await second.previewed()
})
