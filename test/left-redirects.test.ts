import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createFetch } from '@parley/server/jobs/previews/fetch'
import { expect, onTestFinished, test } from 'vitest'
import { page, previewsFrom, servePages } from './support/pages.ts'

test('a redirect whose body does not end is followed, and its connection closed', async () => {
  const web = await servePages({ '/there': page('<title>There</title>') })
  onTestFinished(() => void web.stop())
  const redirected = new Promise<ServerResponse>((resolve) => {
    web.pages['/away'] = (response) => {
      response.writeHead(302, { location: '/there' }).write('More follows.')
      resolve(response)
    }
  })
  const { signal } = new AbortController()
  const fetched = createFetch(previewsFrom(web))('app')(`${web.url}/away`, { type: 'html', signal })
  const away = await redirected
  const closed = once(away, 'close')
  expect((await fetched)?.url.pathname).toBe('/there')
  await closed
})
