import type { Config } from '../config.ts'
import { DEFAULT_CONNECTIONS, startEmbeddedPostgres } from '../db/embedded/index.ts'
import { errorMessage, type StopFunction } from '../lifecycle.ts'
import { processLog } from '../process-log.ts'

/**
 * What a process uses beside its pool: for events, to listen, for beats and `/health`, for the
 * metrics, and for a successor that starts while it still runs.
 */
const BESIDE_POOL = 6
/** For jobs, commands and whoever looks into the database. */
const OTHERS = 40

/** Starts the embedded database, with connections for all worker processes; answers its URL. */
export async function startEmbedded(
  { dataDir, workers, poolSize }: Config,
  { stop, stopFunctions }: { stop: (exitCode: number) => void; stopFunctions: StopFunction[] },
) {
  const connections = Math.max(DEFAULT_CONNECTIONS, workers * (poolSize + BESIDE_POOL) + OTHERS)
  const postgres = await startEmbeddedPostgres({
    dataDir,
    settings: { max_connections: String(connections) },
    onNotice: processLog.info,
    onLost: (error) => {
      processLog.fatal(errorMessage(error))
      stop(1)
    },
  })
  stopFunctions.push(() => postgres.stop())
  return postgres.url
}
