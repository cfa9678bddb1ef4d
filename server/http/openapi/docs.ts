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
  /** Whether the page links to the console. */
  hasConsole: boolean
}

/**
 * Serves the documents at /openapi.json and /asyncapi.json. With `hasPage`, also serves a page at
 * /docs with both of them and the guides, in which the operations can be tried out.
 */
export function serveDocs(app: FastifyInstance, options: DocsOptions) {
  const { hasPage, hasDemo, hasConsole, wsUrl } = options
  // As bytes, of which no reader needs a copy.
  const openApi = once(async () => Buffer.from(await loadOpenApiJson()))
  const asyncApi = once(() => Buffer.from(asyncApiJson(wsUrl())))
  app.get('/openapi.json', async (_, reply) => reply.type(JSON_TYPE).send(await openApi()))
  // The second path is that of earlier versions.
  for (const path of ['/asyncapi.json', '/docs/asyncapi.json'])
    app.get(path, (_, reply) => reply.type(JSON_TYPE).send(asyncApi()))
  app.get('/favicon.ico', (_, reply) =>
    reply.type('image/svg+xml').header('Cache-Control', 'public, max-age=86400').send(ICON),
  )
  if (!hasPage) return
  servePage(app, 'docs', { redirects: ['/docs'], connectsTo: () => [] })
  app.get('/docs/demo.json', () => ({ userIds: hasDemo ? demoUserIds : [], hasConsole }))
}

/** Loaded when it is first needed: the generator takes a tenth of the time of a start. */
const loadOpenApiJson = async () => (await import('./document.ts')).openApiJson()

const JSON_TYPE = 'application/json; charset=utf-8'

/** The icon of the pages. Documents cannot link to one. */
const ICON =
  "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'>" +
  "<rect width='32' height='32' rx='9' fill='#4f46e5'/>" +
  "<path d='M9 10h14v9h-7l-5 4v-4H9z' fill='white'/></svg>"
