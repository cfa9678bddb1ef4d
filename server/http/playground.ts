import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ApiError, fail } from '../core/errors.ts'
import { mayConnect } from '../core/origins.ts'
import type { Call } from './call.ts'
import { type Bundle, bundlePlayground } from './playground-bundle.ts'
import { toRequest } from './rest.ts'

export type PlaygroundOptions = {
  /** Mints the token of a user: the operation itself. */
  mint: Call
  demoApiKey: string
  publicUrl: () => string
  wsUrl: () => string
}

/** Who can be played; the demo app has tokens for nobody else. */
const demoUsers = { ana: 'Ana Sousa', ben: 'Ben Okafor', cleo: 'Cleo Martin' }
const Body = z.object({ userId: z.enum(Object.keys(demoUsers) as (keyof typeof demoUsers)[]) }) // all its keys

/** In development only: /playground, where two users of the demo app chat side by side. The page is made when it is first asked for. */
export function playground(
  app: FastifyInstance,
  { mint, demoApiKey, publicUrl, wsUrl }: PlaygroundOptions,
) {
  const bundle = madeOnce(bundlePlayground)
  // Relative, for there may be a path before it.
  for (const path of ['/', '/playground'])
    app.get(path, ({ url }, reply) =>
      reply
        .code(302)
        .header('Location', `playground/${url.slice(path.length)}`)
        .send(),
    )
  app.get('/playground/', async (_, reply) => {
    const headers = {
      'Content-Security-Policy': contentSecurityPolicy(wsUrl()),
      'Cache-Control': 'no-cache',
      'Referrer-Policy': 'no-referrer',
    }
    return send(reply.headers(headers), await bundle(), 'index.html')
  })
  app.get<{ Params: { file: string } }>('/playground/assets/:file', async ({ params }, reply) =>
    send(
      reply.header('Cache-Control', 'public, max-age=31536000, immutable'),
      await bundle(),
      `assets/${params.file}`,
    ),
  )
  app.post('/playground/token', async (request, reply) => {
    if (!isOwnPage(request, publicUrl()))
      return fail('FORBIDDEN', `These tokens are for ${publicUrl()}/playground`)
    if (request.body instanceof ApiError) throw request.body
    const { data } = Body.safeParse(request.body)
    if (!data)
      return fail(
        'VALIDATION_ERROR',
        `userId: expected one of ${Object.keys(demoUsers).join(', ')}`,
      )
    reply.header('Cache-Control', 'no-store')
    return mint(
      { ...toRequest(request, reply), credentials: { apiKey: demoApiKey } },
      { ...data, name: demoUsers[data.userId] },
    )
  })
}

/** Kept for the life of the process; what failed is tried again the next time. */
function madeOnce<T>(make: () => Promise<T>) {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().catch((error) => {
      made = undefined
      throw error
    })
    return made
  }
}

const types: Record<string, string> = { html: 'text/html', js: 'text/javascript', css: 'text/css' }

function send(reply: FastifyReply, bundle: Bundle, name: string) {
  const content = bundle.get(name)
  const type = types[name.slice(name.lastIndexOf('.') + 1)]
  if (content === undefined || !type) return fail('NOT_FOUND', 'No such file')
  return reply
    .header('X-Content-Type-Options', 'nosniff')
    .type(`${type}; charset=utf-8`)
    .send(content)
}

/** Not the page of another site, nor one that has made its name point here. */
function isOwnPage({ headers }: FastifyRequest, publicUrl: string) {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return false
  const { host = '' } = headers
  const own = new URL(publicUrl)
  const isOwnName = host === own.host || /^(localhost|[\d.]+|\[[\da-f:]+\])(:\d+)?$/i.test(host)
  return isOwnName && mayConnect(headers, (origin) => origin === own.origin)
}

/** The page loads nothing from elsewhere, and talks to this server only. */
const contentSecurityPolicy = (wsUrl: string) =>
  Object.entries({
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': "'self'",
    'img-src': "'self' data:",
    'connect-src': `'self' ${new URL(wsUrl).origin}`,
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
  })
    .map(([directive, sources]) => `${directive} ${sources}`)
    .join('; ')
