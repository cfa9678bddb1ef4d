import type { Config } from '../config/index.ts'
import {
  DEFAULT_CONNECTIONS,
  requireEmbeddable,
  startEmbeddedPostgres,
} from '../db/embedded/index.ts'
import type { Stop, StopFunction } from '../process/lifecycle.ts'
import { processLog } from '../process/process-log.ts'
import { checkAddresses } from './check-addresses.ts'
import { connectionsOf } from './connections.ts'

/** Connections left for commands, and for people who look into the database. */
const OTHERS = 30

/** Starts the embedded database, with connections for all worker processes; answers its URL. */
export async function startEmbedded(
  config: Config,
  { stop, stopFunctions }: { stop: Stop; stopFunctions: StopFunction[] },
) {
  requireEmbeddable(config.dataDir)
  const connections = Math.max(DEFAULT_CONNECTIONS, connectionsOf(config) + OTHERS)
  const startDatabase = () =>
    startEmbeddedPostgres({
      dataDir: config.dataDir,
      settings: { max_connections: String(connections) },
      onNotice: processLog.info,
      onLost: (line) => stop(1, line),
    })
  // A database takes seconds to make, for nothing if the server cannot listen.
  const starting = checkAddresses(config).then(startDatabase)
  // A stop meanwhile waits for it, so that none of its programs is left behind.
  stopFunctions.push(() =>
    starting.then(
      (postgres) => postgres.stop(),
      () => {}, // it is why the start fails
    ),
  )
  const { url } = await starting
  return url
}
