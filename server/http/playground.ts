import { BlockList, isIPv6 } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ApiError } from '../core/errors.ts'
import { jsonOf } from './bodies.ts'
import type { Call } from './call.ts'
import { isOwnPage, servePage } from './pages.ts'
import { toCallRequest } from './rest.ts'

type PlaygroundOptions = {
  /** The operation tokens.create. */
  mintToken: Call
  demoApiKey: string
  publicUrl: () => string
  wsUrl: () => string
}

/** The users that the playground offers. It hands out tokens for no other user. */
const demoUsers = { ana: 'Ana Sousa', ben: 'Ben Okafor', cleo: 'Cleo Martin' }
// These are all its keys.
export const demoUserIds = Object.keys(demoUsers) as (keyof typeof demoUsers)[]
const TokenRequest = z.object({ userId: z.enum(demoUserIds) })

/**
 * Serves /playground, in development only: a page where two users of the demo app chat side by
 * side.
 */
export function servePlayground(
  app: FastifyInstance,
  { mintToken, demoApiKey, publicUrl, wsUrl }: PlaygroundOptions,
) {
  servePage(app, 'playground', {
    redirects: ['/playground'],
    connectsTo: () => [new URL(wsUrl()).origin],
    showsPictures: true,
  })
  app.post('/playground/token', async (request, reply) => {
    if (!isFromThisMachine(request))
      throw new ApiError('FORBIDDEN', 'The playground works only on the machine of the server')
    if (!isOwnPage(request, publicUrl()))
      throw new ApiError('FORBIDDEN', `These tokens are for ${publicUrl()}/playground`)
    const body = jsonOf(request)
    if (body instanceof ApiError) throw body
    const { data } = TokenRequest.safeParse(body)
    if (!data)
      throw new ApiError('VALIDATION_ERROR', `userId: expected one of ${demoUserIds.join(', ')}`)
    const credentials = { apiKey: demoApiKey, ip: request.ip }
    return mintToken(toCallRequest(request, reply, credentials), () => ({
      ...data,
      name: demoUsers[data.userId],
    }))
  })
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8)
loopback.addAddress('::1', 'ipv6')

/**
 * Whether the request comes from this machine: its connection and, behind a trusted proxy, the
 * caller named by the proxy.
 */
const isFromThisMachine = ({ socket, ip }: FastifyRequest) =>
  [socket.remoteAddress ?? '', ip].every((address) =>
    loopback.check(address, isIPv6(address) ? 'ipv6' : 'ipv4'),
  )
