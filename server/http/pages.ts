import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../core/errors.ts'
import { mayConnect } from '../core/origins.ts'
import { once } from './once.ts'
import { type Bundle, bundlePage, type PageName } from './page-bundle.ts'

type PageOptions = {
  /** Paths that lead to the page. */
  redirects: readonly string[]
  /** Servers that the page connects to, besides its own. */
  connectsTo: () => readonly string[]
  /** Whether it shows pictures of other sites, over TLS. */
  showsPictures?: boolean
}

/** Serves a page and its files below a path of its name. It is bundled at its first visit. */
export function servePage(
  app: FastifyInstance,
  page: PageName,
  { redirects, connectsTo, showsPictures = false }: PageOptions,
) {
  const bundle = once(() => bundlePage(page))
  for (const path of redirects)
    app.get(path, ({ url }, reply) => {
      const query = /\?.*/s.exec(url)?.[0] ?? ''
      // A relative location, because a proxy may serve us below a path of its own.
      const location = `${page}/${query}`
      return reply.code(302).header('Location', location).send()
    })
  app.get(`/${page}/`, async (_, reply) => {
    const headers = {
      'Content-Security-Policy': contentSecurityPolicy({
        connectsTo: connectsTo(),
        picturesFrom: showsPictures ? ['https:'] : [],
      }),
      'Cache-Control': 'no-cache',
      'Referrer-Policy': 'no-referrer',
    }
    return sendFile(reply.headers(headers), await bundle(), 'index.html')
  })
  app.get<{ Params: { file: string } }>(`/${page}/assets/:file`, async ({ params }, reply) => {
    reply.header('Cache-Control', 'public, max-age=31536000, immutable')
    return sendFile(reply, await bundle(), `assets/${params.file}`)
  })
}

/**
 * False for pages of other sites, and for those whose domain name was made to point at this server.
 */
export function isOwnPage({ headers }: FastifyRequest, publicUrl: string) {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return false
  const { host = '' } = headers
  const own = new URL(publicUrl)
  const isOwnName = host === own.host || /^(localhost|[\d.]+|\[[\da-f:]+\])(:\d+)?$/i.test(host)
  return isOwnName && mayConnect(headers, (origin) => origin === own.origin)
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

type Sources = { connectsTo: readonly string[]; picturesFrom: readonly string[] }

/** The page loads files from this server only, apart from pictures. */
function contentSecurityPolicy({ connectsTo, picturesFrom }: Sources) {
  const sourcesOf = {
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': "'self'",
    'img-src': ["'self'", 'data:', ...picturesFrom].join(' '),
    'connect-src': ["'self'", ...connectsTo].join(' '),
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
  }
  const directives = Object.entries(sourcesOf).map(([name, sources]) => `${name} ${sources}`)
  return directives.join('; ')
}
