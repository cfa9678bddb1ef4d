import { toServerError } from '../calls/call.ts'
import { ChatError, isChatError } from '../calls/error.ts'
import type { ImportRecord, ImportReport } from '../generated/types.ts'

/**
 * The data to import: single records, or chunks of a file of them (a `ReadStream` of Node.js, the
 * `body` of a response). It is read as fast as the server takes it.
 */
export type ImportSource =
  | AsyncIterable<ImportRecord | Uint8Array | string>
  | Iterable<ImportRecord | Uint8Array>

type ImportRequest = {
  url: string
  apiKey: string
  fetch?: typeof globalThis.fetch | undefined
  source: ImportSource
  signal?: AbortSignal
}

/** Sends the records as they come, and resolves to the report. */
export async function sendImport({
  url,
  apiKey,
  fetch = globalThis.fetch,
  source,
  signal,
}: ImportRequest): Promise<ImportReport> {
  const base = url.replace(/\/+$/, '')
  const body = toBody(source)
  const request: RequestInit & { duplex: 'half' } = {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/x-ndjson' },
    body: body.stream,
    duplex: 'half', // required for streams, but missing in the types of browsers
    ...(signal && { signal }),
  }
  let response: Response | undefined
  try {
    response = await fetch(`${base}/import`, request)
    const text = await response.text()
    if (!response.ok) throw toServerError(response, text)
    return JSON.parse(text)
  } catch (cause) {
    if (isChatError(cause)) throw cause
    if (signal?.aborted) throw new ChatError('the call was aborted', { code: 'ABORTED', cause })
    if (body.failure()) throw body.failure()
    throw new ChatError(problemAt(base, cause, response), { code: 'NETWORK_ERROR', cause })
  }
}

function problemAt(base: string, cause: unknown, response: Response | undefined) {
  if (!response) return `unable to reach ${base}`
  if (cause instanceof SyntaxError) return `${base} did not answer in JSON; is the url right?`
  return `the answer of ${base} was cut off; send the same records again`
}

/** The source as a body, and what it failed with, which `fetch` reports as one of the network. */
function toBody(source: ImportSource) {
  const parts = chunksOf(source)
  let failure: ChatError | undefined
  const next = () =>
    parts.next().catch((cause) => {
      failure = new ChatError(`the records could not be read: ${cause}`, { code: 'ABORTED', cause })
      throw failure
    })
  const stream = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: async () => void (await parts.return(undefined)),
  })
  return { stream, failure: () => failure }
}

/** The fewest characters of records that are sent together. */
const CHUNK = 16_384

async function* chunksOf(source: ImportSource): AsyncGenerator<Uint8Array, undefined> {
  const encoder = new TextEncoder()
  let text = ''
  for await (const part of source) {
    const isRecord = typeof part === 'object' && !(part instanceof Uint8Array)
    if (isRecord) text += `${JSON.stringify(part)}\n`
    // Records before a chunk are sent before it.
    if (text.length >= CHUNK || (!isRecord && text !== '')) {
      yield encoder.encode(text)
      text = ''
    }
    if (!isRecord) {
      yield typeof part === 'string' ? encoder.encode(part) : part
    }
  }
  if (text !== '') yield encoder.encode(text)
}
