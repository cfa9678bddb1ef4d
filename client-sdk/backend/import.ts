import { toServerError } from '../calls/call.ts'
import { ChatError } from '../calls/error.ts'
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
  const request: RequestInit & { duplex: 'half' } = {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/x-ndjson' },
    body: toBody(source),
    duplex: 'half', // required for streams, but missing in the types of browsers
    ...(signal && { signal }),
  }
  const response = await fetch(`${base}/import`, request).catch((cause) => {
    if (signal?.aborted) throw new ChatError('the call was aborted', { code: 'ABORTED', cause })
    throw new ChatError(`unable to reach ${base}`, { code: 'NETWORK_ERROR', cause })
  })
  const text = await response.text()
  if (!response.ok) throw toServerError(response, text)
  return JSON.parse(text)
}

function toBody(source: ImportSource) {
  const parts = chunksOf(source)
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await parts.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: async () => void (await parts.return(undefined)),
  })
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
