import { setImmediate } from 'node:timers/promises'
import { limits } from '@parley/contract'
import type { FetchResult } from './fetch.ts'

/** A page's description of itself. */
type PageFacts = {
  title: string | null
  description: string | null
  image: string | null
  siteName: string | null
  type: 'website' | 'video' | 'article'
}

/** How much is parsed at once, before other work of the process has its turn. */
const CHUNK_LENGTH = 16 * 1024
/** The parser's cost grows with the square of the depth. No real page is this deep. */
const MAX_DEPTH = 500
/** A title deeper than this belongs to a drawing. */
const MAX_TITLE_DEPTH = 3
const MAX_VALUE_LENGTH = 4_096

/** Reads Open Graph tags first, then Twitter's and plain HTML. */
export async function readPage({ url, contentType, body }: FetchResult): Promise<PageFacts> {
  const { meta, title } = await collectTags(decode(body, contentType))
  const firstOf = (...names: string[]) => names.map((name) => meta.get(name)).find((value) => value)
  const { titleLength, descriptionLength, siteNameLength } = limits.linkPreview
  return {
    title: toSingleLine(firstOf('og:title', 'twitter:title') ?? title, titleLength),
    description: toSingleLine(
      firstOf('og:description', 'twitter:description', 'description'),
      descriptionLength,
    ),
    image: absoluteHttpUrl(
      firstOf(
        'og:image',
        'og:image:url',
        'og:image:secure_url',
        'twitter:image',
        'twitter:image:src',
        'image_src',
      ),
      url,
    ),
    siteName: toSingleLine(
      firstOf('og:site_name', 'application-name') ?? url.hostname.replace(/^www\./, ''),
      siteNameLength,
    ),
    type: pageTypeOf(firstOf('og:type') ?? ''),
  }
}

function pageTypeOf(ogType: string): PageFacts['type'] {
  if (ogType.startsWith('video')) return 'video'
  return ogType === 'article' ? 'article' : 'website'
}

/** The first value of each name, and the first title. */
async function collectTags(html: string) {
  const meta = new Map<string, string>()
  let title = ''
  let isTitle = false
  let depth = 0
  const addMeta = (name: string | undefined, value: string | undefined) => {
    const key = name?.trim().toLowerCase() ?? ''
    if (key && value && !meta.has(key)) meta.set(key, value.slice(0, MAX_VALUE_LENGTH))
  }
  // Loaded with the first page, not with the server.
  const { Parser } = await import('htmlparser2')
  const parser = new Parser({
    onopentag: (name, attributes) => {
      depth += 1
      if (name === 'meta') {
        addMeta(attributes.property, attributes.content)
        addMeta(attributes.name, attributes.content)
      }
      if (name === 'link' && attributes.rel === 'image_src') addMeta('image_src', attributes.href)
      isTitle = name === 'title' && title === '' && depth <= MAX_TITLE_DEPTH
    },
    ontext: (text) => {
      if (isTitle && title.length < MAX_VALUE_LENGTH) title += text
    },
    onclosetag: () => {
      depth -= 1
      isTitle = false
    },
  })
  for (let start = 0; start < html.length && depth < MAX_DEPTH; start += CHUNK_LENGTH) {
    parser.write(html.slice(start, start + CHUNK_LENGTH))
    await setImmediate()
  }
  return { meta, title }
}

/** Decodes by the byte order mark, the header or the page's own declaration, else as UTF-8. */
function decode(body: Buffer, contentType: string) {
  const encoding = declaredEncoding(body, contentType)
  try {
    const decoder = new TextDecoder(encoding ?? 'utf-8', { fatal: encoding === undefined })
    return decoder.decode(body, { stream: true })
  } catch {
    // Not UTF-8 (browsers then assume windows-1252), or an unknown charset.
    return new TextDecoder(encoding === undefined ? 'windows-1252' : 'utf-8').decode(body)
  }
}

function declaredEncoding(body: Buffer, contentType: string) {
  if (body[0] === 0xfe && body[1] === 0xff) return 'utf-16be'
  if (body[0] === 0xff && body[1] === 0xfe) return 'utf-16le'
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) return 'utf-8'
  const head = body.subarray(0, 1_024).toString('latin1')
  return CHARSET.exec(contentType)?.[1] ?? CHARSET.exec(head)?.[1]
}
const CHARSET = /charset\s*=\s*["']?([\w:.-]{1,40})/i

/** Text as one line that JSON and PostgreSQL can store, or null if nothing is left. */
export function toSingleLine(text: string | undefined, maxLength: number) {
  const line = (text ?? '')
    .slice(0, MAX_VALUE_LENGTH)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Z}]+/gu, ' ')
    .trim()
  return [...line].slice(0, maxLength).join('') || null
}

function absoluteHttpUrl(address: string | undefined, base: URL) {
  if (address === undefined || !URL.canParse(address.trim(), base.href)) return null
  const { protocol, href } = new URL(address.trim(), base)
  const isHttp = protocol === 'http:' || protocol === 'https:'
  return isHttp && href.length <= limits.urlLength ? href : null
}
