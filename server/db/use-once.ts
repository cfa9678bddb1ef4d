import { connectOnce, type DbConnection } from './connection.ts'
import { singleSocket } from './single-socket.ts'

/**
 * Runs the work of a command, or of a start, on a connection of its own. It never reconnects: when
 * the connection is lost, all that waits for it fails.
 */
export async function useOnce<T>(
  url: string,
  work: (db: DbConnection) => Promise<T>,
  applicationName?: string,
): Promise<T> {
  const db = connectOnce(url, {
    ...(applicationName && { applicationName }),
    socket: singleSocket(),
    // If the connection breaks during the look-up of array types, the error ends the process.
    fetch_types: false,
  })
  try {
    return await work(db)
  } finally {
    await db.end({ timeout: 1 })
  }
}
