import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'

// Servers close connections that are idle for longer, maybe just as a request is sent.
const agent = new Agent({ keepAlive: true, timeout: 30_000 })

export type QuickRequest = {
  method?: string
  headers?: Record<string, string>
  body?: string
  signal?: AbortSignal
}

/** A `fetch` for many small calls: those of Node.js take three times as much processor time. */
export const quickFetch = (url: string, { body, ...options }: QuickRequest): Promise<Response> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { ...options, agent }, (answer) => {
      responseOf(answer).then(resolve, reject)
    })
    sent.once('error', reject)
    sent.end(body)
  })

async function responseOf(answer: IncomingMessage) {
  const headers = Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  )
  const body = await text(answer)
  return new Response(body || null, { status: answer.statusCode ?? 0, headers })
}
