import type { IncomingMessage, ServerResponse } from 'node:http'
import { bodyOf, serveLocally } from './local-server.ts'

/** A request that a webhook received. */
export type Received = {
  path: string
  headers: Record<string, string>
  body: string
  type: string
  timestamp: string
  appId: string
  data: Record<string, unknown>
}
type Answer = (response: ServerResponse, received: Received) => unknown

/** A server that receives webhooks, records the requests, and answers as the test sets. */
export async function serveReceiver({ port = 0 } = {}) {
  const received: Received[] = []
  const accept: Answer = (response) => response.writeHead(204).end()
  let answer = accept
  let [open, mostOpen] = [0, 0]
  const server = await serveLocally(async (request, response) => {
    mostOpen = Math.max(mostOpen, ++open)
    response.on('close', () => open--)
    const one = await receivedFrom(request)
    if (!one) return
    received.push(one)
    await answer(response, one)
  }, port)
  return {
    ...server,
    received,
    /** The requests to a path, in order. */
    at: (path: string) => received.filter((each) => each.path === path),
    answerWith: (other: Answer) => {
      answer = other
    },
    behave: () => {
      answer = accept
      mostOpen = open
    },
    mostOpen: () => mostOpen,
  }
}

async function receivedFrom(request: IncomingMessage): Promise<Received | undefined> {
  const body = await bodyOf(request)
  if (body === undefined) return undefined
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  )
  return { path: request.url ?? '', headers, body, ...JSON.parse(body) }
}

export const answering =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, headers).end()
