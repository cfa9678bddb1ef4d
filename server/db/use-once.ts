import { connectOnce, type DbConnection } from './connection.ts'
import { DeadlineError } from './pool.ts'
import { singleSocket } from './single-socket.ts'

/** How long the work of a command or a start may take, if it only reads and writes some rows. */
const WITHIN_MS = 30_000

type UseOnceOptions = { applicationName?: string; withinMs?: number }

/**
 * Runs the work of a command, or of a start, on a connection of its own. It never reconnects: when
 * the connection is lost, all that waits for it fails. So it does at the end of its time: the
 * connection may have fallen silent.
 */
export async function useOnce<T>(
  url: string,
  work: (db: DbConnection) => Promise<T>,
  { applicationName, withinMs = WITHIN_MS }: UseOnceOptions = {},
): Promise<T> {
  const db = connectOnce(url, {
    ...(applicationName && { applicationName }),
    socket: singleSocket(),
    // If the connection breaks during the look-up of array types, the error ends the process.
    fetch_types: false,
  })
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineError()), withinMs)
  })
  try {
    return await Promise.race([work(db), late])
  } finally {
    clearTimeout(timer)
    await db.end({ timeout: 1 })
  }
}
