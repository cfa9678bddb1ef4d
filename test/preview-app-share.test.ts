import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { usePreviews } from './support/previews.ts'
import { until } from './support/until.ts'

const scene = usePreviews({})

test("one app's slow links leave some of the previews at once to other apps", async () => {
  const { web, world } = scene()
  const open = new Set<ServerResponse>()
  const talkOf = async (name: string, api?: Awaited<ReturnType<typeof world.stranger>>) => {
    const user = await world.user(name, {}, api)
    const { id: channelId } = await user.channels.create({ type: 'group', name: 'Talk' })
    return { user, channelId }
  }
  // Four users, each of whom may have three messages under way: more than a process has places.
  for (const name of ['ana', 'ben', 'cem', 'dan']) {
    const { user, channelId } = await talkOf(name)
    for (const number of [1, 2, 3]) {
      const path = `/slow/${name}/${number}`
      web.pages[path] = (response) => {
        open.add(response)
        response.on('close', () => open.delete(response))
      }
      await user.messages.send({ channelId, text: web.url + path })
    }
  }
  await until(() => open.size === 8)
  const { user, channelId } = await talkOf('eva', await world.stranger())
  const { id: messageId } = await user.messages.send({ channelId, text: `${web.url}/d` })
  await until(async () => (await user.messages.get({ channelId, messageId })).linkPreviews)
  // This preview did not wait for one of them to be given up.
  expect(open.size).toBe(8)
  for (const response of open) response.end()
})
