import { Readable } from 'node:stream'
import { contract, type Operation, type Output } from '@parley/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'

export const NDJSON = 'application/x-ndjson'

type Page = Output<typeof contract.users.export>

/** Whether the caller wants the export of a user as a stream. */
export const isStreamWanted = (op: Operation, { headers }: FastifyRequest) =>
  op === contract.users.export && headers.accept?.split(/[,;]/)[0]?.trim() === NDJSON

/**
 * Answers the pages of an export, one after the other, each item as a line. The next page is read
 * once the client has read the one before; the first decides whether there is a stream at all.
 */
export async function streamPages(
  reply: FastifyReply,
  read: (page: { cursor?: string }) => Promise<unknown>,
) {
  const pageOf = async (cursor: string | null) =>
    (await read(cursor === null ? {} : { cursor })) as Page // the output of that operation
  const first = await pageOf(null)
  const lines = async function* () {
    for (let page = first; ; page = await pageOf(page.nextCursor)) {
      for (const item of page.items) yield `${JSON.stringify(item)}\n`
      if (page.nextCursor === null) break
    }
    yield '{"kind":"end"}\n'
  }
  return reply.type(NDJSON).send(Readable.from(lines(), { highWaterMark: 1 }))
}
