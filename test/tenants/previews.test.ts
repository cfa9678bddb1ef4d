import { afterAll, beforeAll, expect, test } from 'vitest'
import { page, previewsFrom, servePages } from '../support/pages.ts'
import { until } from '../support/until.ts'
import { createWorld, type World } from '../support/world.ts'
import { createTenants, type Tenant } from './fixture.ts'

let web: Awaited<ReturnType<typeof servePages>>
let world: World
beforeAll(async () => {
  web = await servePages()
  world = await createWorld({ jobs: { previews: previewsFrom(web) } })
})
afterAll(async () => {
  await world.stop()
  await web.stop()
})

test('the preview that one app has cached is not shown in another', async () => {
  const [ours, theirs] = await createTenants(world)
  const titleOf = async ({ ana, channelId }: Tenant) => {
    const { id } = await ana.messages.send({ channelId, text: `${web.url}/page` })
    const read = () => ana.messages.get({ channelId, messageId: id })
    const previews = await until(async () => (await read()).linkPreviews)
    return previews[0]?.title
  }
  web.pages['/page'] = page('<title>For them</title>')
  expect(await titleOf(theirs)).toBe('For them')
  web.pages['/page'] = page('<title>For us</title>')
  expect(await titleOf(ours)).toBe('For us')
  expect(await titleOf(theirs)).toBe('For them')
})
