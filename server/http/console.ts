import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { noteSignIn } from '../core/audit.ts'
import { ApiError } from '../core/errors.ts'
import type { Db } from '../db/client.ts'
import { jsonOf } from './bodies.ts'
import { createConsoleSessions, noSessionCookie } from './console-sessions.ts'
import { isOwnPage, servePage } from './pages.ts'
import { factsOf } from './request-facts.ts'
import { type Calls, serveRest, toCallRequest } from './rest.ts'

type ConsoleOptions = {
  adminKey: string
  publicUrl: () => string
  db: Db
}
const SignIn = z.object({ adminKey: z.string().max(1_000) })
/** Strangers send it: it is parsed before the key is known. */
const SIGN_IN_BYTES = 8 * 1024

/**
 * Serves /console: a page for the operator. Whoever signs in with the admin key gets a session, and
 * with it the operator's operations below /console, for pages of this server only.
 */
export function serveConsole(
  app: FastifyInstance,
  calls: Calls,
  { adminKey, publicUrl, db }: ConsoleOptions,
) {
  const sessions = createConsoleSessions(adminKey)
  servePage(app, 'console', { redirects: ['/console'], connectsTo: () => [] })

  const requireOwnPage = async (request: FastifyRequest) => {
    if (!isOwnPage(request, publicUrl()))
      throw new ApiError('FORBIDDEN', `The console is at ${publicUrl()}/console (PUBLIC_URL)`)
  }
  const signIn = { onRequest: requireOwnPage, bodyLimit: SIGN_IN_BYTES }
  app.post('/console/session', signIn, async (request, reply) => {
    const body = jsonOf(request)
    if (body instanceof ApiError) throw body
    const { data } = SignIn.safeParse(body)
    if (!data) throw new ApiError('VALIDATION_ERROR', 'adminKey: expected the admin key')
    // This call verifies the key, counts failures and applies the rate limit.
    const { ip } = request
    const credentials = { ip, adminKey: data.adminKey }
    await calls.apps.list?.call(toCallRequest(request, reply, credentials), () => ({
      limit: 1,
    }))
    await db.use((db) => noteSignIn(db, { requestId: request.id, ip }))
    factsOf(request.raw).isAudited = true
    // Over HTTP, as at the server's IP address, browsers drop a cookie that asks for TLS.
    const isSecure = (request.headers.origin ?? publicUrl()).startsWith('https:')
    return reply.header('Set-Cookie', await sessions.begin(isSecure)).send({ success: true })
  })
  app.delete('/console/session', { onRequest: requireOwnPage }, async (_, reply) =>
    reply.header('Set-Cookie', noSessionCookie()).send({ success: true }),
  )
  app.register(
    async (scope) => {
      scope.addHook('onRequest', requireOwnPage)
      scope.addHook('onRequest', async ({ headers }) => {
        if (!(await sessions.isValid(headers.cookie)))
          throw new ApiError('UNAUTHORIZED', 'Sign in to the console')
      })
      serveRest(scope, calls, {
        has: ({ auth }) => auth === 'admin',
        credentialsOf: ({ ip }) => ({ ip, adminKey }),
      })
    },
    { prefix: '/console' },
  )
}
