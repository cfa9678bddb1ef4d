import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { fail } from '../../core/errors.ts'
import { asyncApiJson } from './asyncapi.ts'
import { openApiJson } from './document.ts'

/** The documents at /openapi.json and /docs/asyncapi.json; with `hasPage` also, at /docs, a page to read it and to try the operations. */
export function docs(app: FastifyInstance, { hasPage }: { hasPage: boolean }) {
  const json = madeOnce(openApiJson)
  const asyncJson = madeOnce(asyncApiJson)
  app.get('/openapi.json', (_, reply) => reply.type('application/json; charset=utf-8').send(json()))
  app.get('/docs/asyncapi.json', (_, reply) =>
    reply.type('application/json; charset=utf-8').send(asyncJson()),
  )
  if (!hasPage) return
  // For files that the page does not have.
  app.setNotFoundHandler(() => fail('NOT_FOUND', 'No such route'))
  app.register(swagger, { mode: 'static', specification: { document: JSON.parse(json()) } })
  app.register(swaggerUi, {
    routePrefix: '/docs',
    theme: { title: 'Parley' },
    uiConfig: { layout: 'BaseLayout', tryItOutEnabled: true, persistAuthorization: true },
    staticCSP: contentSecurityPolicy,
  })
}

const madeOnce = (make: () => string) => {
  let made: string | undefined
  return () => {
    made ??= make()
    return made
  }
}

/** The page loads nothing from elsewhere, and calls no other server. */
const contentSecurityPolicy = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
}
