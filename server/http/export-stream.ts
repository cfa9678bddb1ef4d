import { Readable } from 'node:stream'
import { contract, limits, type Operation, type Output } from '@parley/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../core/errors.ts'
import { sha256 } from '../core/hash.ts'
import { logError, toApiError } from './errors.ts'
import { factsOf } from './request-facts.ts'

const NDJSON = 'application/x-ndjson'

type ExportPage = Output<typeof contract.users.export>

/** Whether the caller wants the export of a user as a stream. */
export const isStreamWanted = (op: Operation, { headers }: FastifyRequest) =>
  op === contract.users.export && headers.accept?.split(/[,;]/)[0]?.trim() === NDJSON

type ReadPage = (page: { cursor?: string }, isLater: boolean) => Promise<unknown>
type Stream = {
  request: FastifyRequest
  reply: FastifyReply
  read: ReadPage
  apiKey?: string | undefined
}

/**
 * Streams of exports. Only the first page of each counts as a call, so the streams that a key has
 * open are limited instead.
 */
export function createExportStreams() {
  const running = new Map<string, number>()
  const take = (key: string) => {
    const count = running.get(key) ?? 0
    if (count >= most) throw new ApiError('RATE_LIMITED', TOO_MANY, RETRY_SECONDS)
    running.set(key, count + 1)
  }
  const release = (key: string) => {
    const count = (running.get(key) ?? 0) - 1
    if (count > 0) running.set(key, count)
    else running.delete(key)
  }
  return async ({ request, reply, read, apiKey = '' }: Stream) => {
    // HEAD would read all pages and send none of them.
    if (request.method === 'HEAD') {
      reply.header('Allow', 'GET')
      throw new ApiError('METHOD_NOT_ALLOWED', 'HEAD is not served for a streamed export')
    }
    // A hash, since keys that are not valid come here too.
    const key = sha256(apiKey)
    take(key)
    try {
      const stream = await streamPages(read, (error) =>
        logError(request.log, error, toApiError(error)),
      )
      stream.once('close', () => release(key))
      const { userId } = request.params as { userId: string } // from the path of that operation
      factsOf(request.raw).userId = userId
      return reply.type(NDJSON).send(stream)
    } catch (error) {
      release(key)
      throw error
    }
  }
}

const { exportsAtOnce: most } = limits
const TOO_MANY = `Too many exports at once with this API key: at most ${most}`
const RETRY_SECONDS = 5

/**
 * Streams an export page by page: each item as a line, and after each page a line with the cursor
 * of the next. The next page is read only after the client has read the one before. If the first
 * page fails, there is no stream but an error response.
 */
async function streamPages(read: ReadPage, onFailed: (error: unknown) => void) {
  const first = (await read({}, false)) as ExportPage // the output of that operation
  const lines = async function* () {
    for (let page = first; ; ) {
      for (const item of page.items) yield lineOf(item)
      const cursor = page.nextCursor
      if (cursor === null) break
      yield lineOf({ kind: 'cursor', cursor })
      try {
        page = (await read({ cursor }, true)) as ExportPage // likewise
      } catch (error) {
        // The status was sent already, so all that is left is to cut the connection.
        onFailed(error)
        throw error
      }
    }
    yield lineOf({ kind: 'end' })
  }
  return Readable.from(lines(), { highWaterMark: 1 })
}

const lineOf = (value: object) => `${JSON.stringify(value)}\n`
