import type { IncomingMessage, ServerResponse } from 'node:http'
import { serveLocally } from './local-server.ts'
import { unhurried } from './until.ts'

type Answer = string | Buffer | ((response: ServerResponse, request: IncomingMessage) => void)

/** A fake web server: it serves pages by path, and records the requested paths. */
export async function servePages(pages: Record<string, Answer> = {}, { port = 0 } = {}) {
  const requested: string[] = []
  const server = await serveLocally((request, response) => {
    const path = request.url ?? ''
    requested.push(path)
    const page = pages[path]
    if (typeof page === 'function') return page(response, request)
    if (page === undefined) return response.writeHead(404).end()
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page)
  }, port)
  return {
    ...server,
    pages,
    requested,
    requestsFor: (path: string) => requested.filter((other) => other === path).length,
  }
}

/** Settings of previews from this server alone. A page that took too long would have no preview. */
export const previewsFrom = ({ host }: { host: string }) => ({
  allowedHosts: [host],
  timeoutMs: unhurried.callMs,
})

/** An HTML page with this head. */
export const page = (head: string) =>
  `<!doctype html><html><head>${head}</head><body><p>Hello</p></body></html>`
