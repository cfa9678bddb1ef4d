import { BlockList, isIPv6 } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ApiError } from '../core/errors.ts'
import { mayConnect } from '../core/origins.ts'
import type { Call } from './call.ts'
import { once } from './once.ts'
import { type Bundle, bundlePlayground } from './playground-bundle.ts'
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
const demoUserIds = Object.keys(demoUsers) as (keyof typeof demoUsers)[] // these are all its keys
const TokenRequest = z.object({ userId: z.enum(demoUserIds) })

/**
 * Serves /playground, in development only: a page where two users of the demo app chat side by
 * side. It is bundled when it is first requested.
 */
export function servePlayground(
  app: FastifyInstance,
  { mintToken, demoApiKey, publicUrl, wsUrl }: PlaygroundOptions,
) {
  const bundle = once(bundlePlayground)
  for (const path of ['/', '/playground'])
    app.get(path, ({ url }, reply) => {
      // A relative location, because a proxy may serve us below a path of its own.
      const location = `playground/${url.slice(path.length)}`
      return reply.code(302).header('Location', location).send()
    })
  app.get('/playground/', async (_, reply) => {
    const headers = {
      'Content-Security-Policy': contentSecurityPolicy(wsUrl()),
      'Cache-Control': 'no-cache',
      'Referrer-Policy': 'no-referrer',
    }
    return sendFile(reply.headers(headers), await bundle(), 'index.html')
  })
  app.get<{ Params: { file: string } }>('/playground/assets/:file', async ({ params }, reply) => {
    reply.header('Cache-Control', 'public, max-age=31536000, immutable')
    return sendFile(reply, await bundle(), `assets/${params.file}`)
  })
  app.post('/playground/token', async (request, reply) => {
    if (!isFromThisMachine(request))
      throw new ApiError('FORBIDDEN', 'The playground is for the machine that the server runs on')
    if (!isOwnPage(request, publicUrl()))
      throw new ApiError('FORBIDDEN', `These tokens are for ${publicUrl()}/playground`)
    if (request.body instanceof ApiError) throw request.body
    const { data } = TokenRequest.safeParse(request.body)
    if (!data)
      throw new ApiError('VALIDATION_ERROR', `userId: expected one of ${demoUserIds.join(', ')}`)
    return mintToken(
      { ...toCallRequest(request, reply), credentials: { apiKey: demoApiKey, ip: request.ip } },
      { ...data, name: demoUsers[data.userId] },
    )
  })
}

const contentTypes: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}

function sendFile(reply: FastifyReply, bundle: Bundle, name: string) {
  const content = bundle.get(name)
  const contentType = contentTypes[name.slice(name.lastIndexOf('.') + 1)]
  if (content === undefined || !contentType) throw new ApiError('NOT_FOUND', 'No such file')
  return reply.type(contentType).send(content)
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

/**
 * False for pages of other sites, and for those whose domain name was made to point at this server.
 */
function isOwnPage({ headers }: FastifyRequest, publicUrl: string) {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return false
  const { host = '' } = headers
  const own = new URL(publicUrl)
  const isOwnName = host === own.host || /^(localhost|[\d.]+|\[[\da-f:]+\])(:\d+)?$/i.test(host)
  return isOwnName && mayConnect(headers, (origin) => origin === own.origin)
}

/** The page loads files from this server only, and connects to no other server. */
function contentSecurityPolicy(wsUrl: string) {
  const sourcesOf = {
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': "'self'",
    'img-src': "'self' data:",
    'connect-src': `'self' ${new URL(wsUrl).origin}`,
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
  }
  const directives = Object.entries(sourcesOf).map(([name, sources]) => `${name} ${sources}`)
  return directives.join('; ')
}
