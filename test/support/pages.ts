import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Answer = string | Buffer | ((response: ServerResponse, request: IncomingMessage) => void)

/** A fake web server: it serves pages by path, and records the requested paths. */
export async function servePages(pages: Record<string, Answer> = {}, { port = 0 } = {}) {
  const requested: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    requested.push(path)
    const page = pages[path]
    if (typeof page === 'function') return page(response, request)
    if (page === undefined) return response.writeHead(404).end()
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page)
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}` // it listens on a port
  return {
    host,
    url: `http://${host}`,
    pages,
    requested,
    requestsFor: (path: string) => requested.filter((other) => other === path).length,
    stop: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}

/** An HTML page with this head. */
export const page = (head: string) =>
  `<!doctype html><html><head>${head}</head><body><p>Hello</p></body></html>`
