import type { FastifyInstance } from 'fastify'
import { once } from '../once.ts'
import { servePage } from '../pages.ts'
import { demoUserIds } from '../playground.ts'
import { asyncApiJson } from './asyncapi.ts'

type DocsOptions = {
  /** Whether to serve the page at /docs. */
  hasPage: boolean
  wsUrl: () => string
  /** Whether the page offers tokens of the demo's users. */
  hasDemo: boolean
}

/**
 * Serves the documents at /openapi.json and /docs/asyncapi.json. With `hasPage`, also serves a page
 * at /docs with both of them and the guides, in which the operations can be tried out.
 */
export function serveDocs(app: FastifyInstance, { hasPage, hasDemo, wsUrl }: DocsOptions) {
  const openApi = once(loadOpenApiJson)
  const asyncApi = once(() => asyncApiJson(wsUrl()))
  app.get('/openapi.json', async (_, reply) => reply.type(JSON_TYPE).send(await openApi()))
  app.get('/docs/asyncapi.json', (_, reply) => reply.type(JSON_TYPE).send(asyncApi()))
  if (!hasPage) return
  servePage(app, 'docs', { redirects: ['/docs'], connectsTo: () => [] })
  app.get('/docs/demo.json', () => ({ userIds: hasDemo ? demoUserIds : [] }))
}

/** Loaded when it is first needed: the generator takes a tenth of the time of a start. */
const loadOpenApiJson = async () => (await import('./document.ts')).openApiJson()

const JSON_TYPE = 'application/json; charset=utf-8'
