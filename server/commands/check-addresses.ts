import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Config } from '../config/index.ts'
import { errorMessage } from '../process/lifecycle.ts'
import { listenError, type NamedAddress } from './listen-error.ts'

/**
 * Throws if a start could not listen, in its words and its order. Both addresses are listened at
 * together, since one may exclude the other.
 */
export async function checkAddresses({ host, port, metricsHost, metricsPort }: Config) {
  const ofMetrics =
    metricsPort === undefined ? [] : [{ host: metricsHost, port: metricsPort, prefix: 'METRICS_' }]
  const tried = await Promise.allSettled([...ofMetrics, { host, port }].map(listen))
  const failed = tried.flatMap((outcome) => {
    if (outcome.status === 'rejected') return [errorMessage(outcome.reason)]
    outcome.value.close()
    return []
  })
  if (failed.length > 0) throw new Error(failed.join('; '))
}

async function listen(address: NamedAddress) {
  const server = createServer().listen(address.port, address.host)
  await once(server, 'listening').catch(listenError(address))
  return server
}
