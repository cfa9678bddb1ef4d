import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { networkOf } from '../core/addresses.ts'
import { copyOf } from '../core/copy-of.ts'
import { createLru } from '../core/lru.ts'
import { bearerToken } from './authenticate.ts'

/** How many credentials are remembered: those of as many callers as are active at once. */
const MOST_CREDENTIALS = 10_000

/**
 * The apps of requests, by their credentials, before these are verified: as an earlier call found.
 * Nothing is permitted by it. Callers that are not known yet, such as those that connect a socket,
 * count for the network that they come from.
 */
export function createKnownApps() {
  const apps = createLru<string>({ entries: MOST_CREDENTIALS })
  return {
    // One that has left has no address.
    ofOrNetwork: ({ raw, ip = '' }: Pick<FastifyRequest, 'raw'> & { ip?: string }) =>
      apps.get(credentialsOf(raw)) ?? networkOf(ip),
    remember: (request: IncomingMessage, appId: string | undefined) => {
      if (appId === undefined) return
      const credentials = credentialsOf(request)
      // A look-up that counts as use: those of active callers are the last to be forgotten.
      if (credentials === '' || apps.get(credentials) !== undefined) return
      apps.set(copyOf(credentials), appId)
    },
  }
}

/**
 * What its call verifies: with both, that depends on the operation. Without what a caller could
 * add, since each spelling would take the place of another caller.
 */
function credentialsOf({ headers }: IncomingMessage) {
  const token = bearerToken(headers.authorization)
  const key = headers['x-api-key']?.toString()
  return token === undefined || key === undefined ? (token ?? key ?? '') : ''
}
