import { bodyOf, serveLocally } from './local-server.ts'

/** A span, as far as tests look at it. */
export type Span = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[]
  status: { code?: number; message?: string }
}

/** Acts as a collector: takes OTLP over HTTP as JSON. `isSilent`: it never answers. */
export async function serveReceiver({ isSilent = false, status = 200 } = {}) {
  const spans: Span[] = []
  let requests = 0
  const server = await serveLocally(async (request, response) => {
    requests += 1
    const text = await bodyOf(request)
    if (isSilent || text === undefined) return
    const { resourceSpans } = JSON.parse(text)
    for (const { scopeSpans } of resourceSpans)
      for (const { spans: some } of scopeSpans) spans.push(...some)
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
  })
  return { ...server, spans, requests: () => requests }
}
