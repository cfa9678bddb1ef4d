import { createFetch, type FetchOptions } from '@parley/server/jobs/previews/fetch'
import { findPreview } from '@parley/server/jobs/previews/find-preview'
import { afterAll, beforeAll } from 'vitest'
import { previewsFrom, servePages } from './pages.ts'

export const html = { 'content-type': 'text/html' }

/** A web server during the tests of a file, and the previews that are found for its pages. */
export function useFoundPreviews(
  settingsFor: (web: { host: string }) => FetchOptions = previewsFrom,
) {
  let served: Awaited<ReturnType<typeof servePages>> | undefined
  beforeAll(async () => {
    served = await servePages()
  })
  afterAll(() => served?.stop())
  const web = () => {
    if (!served) throw new Error('pages are served only while tests run')
    return served
  }
  const lookAt = (path: string) =>
    findPreview(`${web().url}${path}`, {
      fetch: createFetch(settingsFor(web()))('app'),
      signal: new AbortController().signal,
    })
  const find = async (
    path: string,
    content: string | Buffer,
    headers: Record<string, string> = html,
  ) => {
    web().pages[path] = (response) => response.writeHead(200, headers).end(content)
    return (await lookAt(path)).preview
  }
  return { web, lookAt, find }
}
