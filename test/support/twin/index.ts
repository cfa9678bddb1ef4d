import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { DbConnection, Tx } from '@parley/server/db/client'
import { expect } from 'vitest'

/**
 * Each database of the tests has a second app, the twin, whose users have the ids of the users of
 * the first app. No test touches it, so at the end of a world its rows are as they were, no other
 * row names it, and nothing that the server sent contains its marker.
 */

/** Part of every text of the twin. */
const MARKER = 'of-the-twin'
/** The beginning of every id of the twin, except those of the app itself, which operators list. */
const ID_PREFIX = 'c0ffee00-c0de-'
/** Before those of other apps: what asks an index for any app's row finds the twin's. */
export const TWIN_APP_ID = '00c0ffee-c0de-4000-8000-000000000000'
export const TWIN_NODE_ID = 'c0ffee01-c0de-4002-8000-000000000000'

/**
 * The namesakes that every database starts with: ids that many tests use. Others are added when
 * their users are, and each row here is copied, and compared, for every world.
 */
// biome-ignore format: a table of values
export const commonIds = [
  'ana', 'ben', 'cem', 'cleo', 'dan', 'dora', 'emil', 'eva', 'eve', 'fay', 'gus', 'hal',
]

/** Gives users of these ids, unless they have one, a namesake in the twin. */
export function createNamesakes(db: DbConnection) {
  const known = new Set(commonIds)
  const waiting: string[] = []
  let last: Promise<void> | undefined
  const add = async () => {
    const ids = waiting.splice(0)
    if (ids.length > 0) await db`select twin.add_namesakes(${ids})`
  }
  return async (ids: string[]) => {
    const added = ids.filter((id) => !known.has(id) && isSafeInJson(id))
    if (added.length === 0) return
    for (const id of added) known.add(id)
    waiting.push(...added)
    // One at a time, and ids of many callers together: each connection would plan it once more.
    last = last ? last.then(add) : add()
    await last
  }
}

/** Ids are put into JSON as they are. */
const isSafeInJson = (id: string) => /^[\w.:@-]{1,200}$/.test(id)

/** Expects that the rows of the twin are as they were, and that no other row names it. */
export async function expectTwinUntouched(db: DbConnection) {
  expect(await changesOfTwin(db), 'changed rows of another app with the same user ids').toEqual([])
}

/** Some rows of the twin that are not as they were, or others that name it. */
export async function changesOfTwin(db: Tx) {
  const rows = await db<{ difference: string }[]>`
    select difference
    from twin.differences() difference
    limit 10`
  return rows.map(({ difference }) => difference.slice(0, 300))
}

/** The part of a text that is about the twin. There is none if apps are isolated. */
export function leakIn(data: string | Uint8Array): string | undefined {
  const text =
    typeof data === 'string' ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  const at = [MARKER, ID_PREFIX].map((part) => text.indexOf(part)).find((index) => index >= 0)
  return at === undefined ? undefined : String(text.slice(Math.max(0, at - 200), at + 200))
}

/** Collects what a server sends of the twin, in whatever protocol. */
export function watchForLeaks(server: Server) {
  const leaks: string[] = []
  server.on('connection', (socket: Socket) => {
    const { write } = socket
    socket.write = ((...args: Parameters<typeof write>) => {
      const [data] = args
      const leak = leakIn(data)
      if (leak !== undefined) leaks.push(leak)
      return write.apply(socket, args)
    }) as typeof write // the same overloads
  })
  return leaks
}
