import { createQueuePool, socketOf } from '@parley/server/jobs/queue-pool'
import { onTestFinished } from 'vitest'
import type { World } from './world.ts'

/** A message of the protocol: its type, its length and its content. */
function protocolMessage(type: string, content: Buffer) {
  const length = Buffer.alloc(4)
  length.writeInt32BE(content.length + length.length)
  return Buffer.concat([Buffer.from(type), length, content])
}

type Place = Pick<World, 'db' | 'databaseUrl'>

/** Locks a channel in a session whose client falls silent. */
export const lockSilently = (place: Place, channelId: string, name?: string) =>
  fallSilent(place, `select from public.channels where id = '${channelId}' for update`, name)

/**
 * Opens a session whose client falls silent between a statement and its Sync. Resolves to a
 * function that says whether the session is still there.
 */
export const fallSilent = async (place: Place, statement: string, name?: string) =>
  (await pauseSession(place, statement, name)).isThere

/** The same, of a client that can go on: with the same statement, after which it pauses again. */
export async function pauseSession(
  { db, databaseUrl }: Place,
  statement: string,
  name = 'parley-jobs',
) {
  const { pgPool, close } = createQueuePool(databaseUrl, { onConnectionLost: () => {} })
  onTestFinished(close)
  const client = await pgPool.connect()
  onTestFinished(() => client.release(true))
  await client.query(`set application_name to '${name}'`)
  const { rows } = await client.query('select pg_backend_pid() as pid')
  await client.query('begin')
  const socket = socketOf(client)
  socket.removeAllListeners('data')
  const nextAnswer = async () => {
    if (socket.destroyed) return
    await new Promise((resolve) => socket.once('data', resolve).once('close', resolve))
  }
  const execute = async () => {
    const answered = nextAnswer()
    socket.write(protocolMessage('P', Buffer.from(`\0${statement}\0\0\0`)))
    socket.write(protocolMessage('B', Buffer.alloc(8)))
    socket.write(protocolMessage('E', Buffer.alloc(5)))
    // Flush: the answer shows that the statement is done. No Sync follows.
    socket.write(protocolMessage('H', Buffer.alloc(0)))
    await answered
  }
  await execute()
  const isThere = async () => {
    const found = await db`
      select
      from pg_stat_activity
      where pid = ${rows[0].pid}`
    return found.length > 0
  }
  const goOn = async () => {
    const synced = nextAnswer()
    socket.write(protocolMessage('S', Buffer.alloc(0)))
    await synced
    await execute()
  }
  return { isThere, goOn }
}
