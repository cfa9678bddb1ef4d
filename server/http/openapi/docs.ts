import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { ApiError } from '../../core/errors.ts'
import { once } from '../once.ts'
import { asyncApiJson } from './asyncapi.ts'

/**
 * Serves the documents at /openapi.json and /docs/asyncapi.json. With `hasPage`, also serves a page
 * at /docs to read the first and to try out the operations.
 */
export function serveDocs(
  app: FastifyInstance,
  { hasPage, wsUrl }: { hasPage: boolean; wsUrl: () => string },
) {
  const openApi = once(loadOpenApiJson)
  const asyncApi = once(() => asyncApiJson(wsUrl()))
  app.get('/openapi.json', async (_, reply) => reply.type(JSON_TYPE).send(await openApi()))
  app.get('/docs/asyncapi.json', (_, reply) => reply.type(JSON_TYPE).send(asyncApi()))
  if (!hasPage) return
  // For files below /docs that the page does not have.
  app.setNotFoundHandler(() => {
    throw new ApiError('NOT_FOUND', 'No such route')
  })
  app.register(async (scope) => {
    const document = JSON.parse(await openApi())
    scope.register(swagger, { mode: 'static', specification: { document } })
    scope.register(swaggerUi, {
      routePrefix: '/docs',
      theme: { title: 'Parley' },
      uiConfig: { layout: 'BaseLayout', tryItOutEnabled: true, persistAuthorization: true },
      staticCSP: contentSecurityPolicy,
    })
  })
}

/** Loaded when it is first needed: the generator takes a tenth of the time of a start. */
const loadOpenApiJson = async () => (await import('./document.ts')).openApiJson()

const JSON_TYPE = 'application/json; charset=utf-8'

/** The page loads files from this server only, and calls no other server. */
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
