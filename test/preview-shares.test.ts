import { createFetch } from '@parley/server/jobs/previews/fetch'
import { expect, onTestFinished, test } from 'vitest'
import { page, servePages } from './support/pages.ts'
import { usePreviews } from './support/previews.ts'
import { until } from './support/until.ts'

const scene = usePreviews({ perHost: { most: 2, windowMs: 1_000 } })

test('a link whose host was fetched from too often gets its preview later', async () => {
  const { web, send, titles, updatesOf } = scene()
  const { id } = await send(['/a', '/b', '/c'].map((path) => web.url + path).join(' '))
  await until(async () => (await titles(id))?.length === 3)
  expect(await titles(id)).toEqual(['A', 'B', 'C'])
  const [first] = await updatesOf(id)
  expect(first?.payload.message).toMatchObject({ linkPreviews: [{ title: 'A' }, { title: 'B' }] })
  expect(web.requestsFor('/a')).toBe(1)
})

test('fetches are counted by host, redirects included', async () => {
  const target = await servePages({ '/page': page('<title>Target</title>') })
  const other = await servePages({
    '/page': page('<title>Other</title>'),
    '/to': (response) => void response.writeHead(302, { location: `${target.url}/page` }).end(),
  })
  onTestFinished(async () => void (await Promise.all([target.stop(), other.stop()])))
  const allowedHosts = [target.host, other.host]
  const fetchPage = createFetch({ allowedHosts, perHost: { most: 3, windowMs: 600_000 } })
  const get = (url: string) =>
    fetchPage(url, { type: 'html', signal: new AbortController().signal })
  for (const url of [`${target.url}/page`, `${target.url}/none`, `${other.url}/to`]) await get(url)
  await expect(get(`${target.url}/page`)).rejects.toThrow('fetched 3 times')
  await expect(get(`${other.url}/to`)).rejects.toThrow('fetched 3 times')
  expect((await get(`${other.url}/page`))?.url.href).toBe(`${other.url}/page`)
  expect(target.requested).toHaveLength(3)
})
