import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { ApiError } from '../../core/errors.ts'
import { asyncApiJson } from './asyncapi.ts'
import { openApiJson } from './document.ts'

/**
 * Serves the documents at /openapi.json and /docs/asyncapi.json. With `hasPage`, /docs is a page to
 * read the former and to try the operations.
 */
export function docs(app: FastifyInstance, { hasPage }: { hasPage: boolean }) {
  const json = createdOnce(openApiJson)
  const asyncJson = createdOnce(asyncApiJson)
  app.get('/openapi.json', (_, reply) => reply.type('application/json; charset=utf-8').send(json()))
  app.get('/docs/asyncapi.json', (_, reply) =>
    reply.type('application/json; charset=utf-8').send(asyncJson()),
  )
  if (!hasPage) return
  // For files that the page does not have.
  app.setNotFoundHandler(() => {
    throw new ApiError('NOT_FOUND', 'No such route')
  })
  app.register(swagger, { mode: 'static', specification: { document: JSON.parse(json()) } })
  app.register(swaggerUi, {
    routePrefix: '/docs',
    theme: { title: 'Parley' },
    uiConfig: { layout: 'BaseLayout', tryItOutEnabled: true, persistAuthorization: true },
    staticCSP: contentSecurityPolicy,
  })
}

const createdOnce = (create: () => string) => {
  let created: string | undefined
  return () => {
    created ??= create()
    return created
  }
}

/** The page loads nothing from other servers and calls none. */
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
