import { setImmediate } from 'node:timers/promises'
import { limits } from '@parley/contract'
import { Parser } from 'htmlparser2'
import type { Fetched } from './fetch.ts'

/** What a page says of itself. */
export type PageFacts = {
  title: string | null
  description: string | null
  image: string | null
  siteName: string | null
  type: 'website' | 'video' | 'article'
}

/** Pieces small enough that the server's other work goes on between them. */
const PIECE = 16 * 1024
/** The parser's cost grows with the square of the depth. No page for people is this deep. */
const MAX_DEPTH = 500
const MAX_VALUE = 4_096

/** Open graph first, then what Twitter and plain HTML have. */
export async function readPage({ url, contentType, body }: Fetched): Promise<PageFacts> {
  const { meta, title } = await collect(decode(body, contentType))
  const first = (...names: string[]) => names.map((name) => meta.get(name)).find((value) => value)
  const type = first('og:type') ?? ''
  const { titleLength, descriptionLength, siteNameLength } = limits.linkPreview
  return {
    title: clean(first('og:title', 'twitter:title') ?? title, titleLength),
    description: clean(
      first('og:description', 'twitter:description', 'description'),
      descriptionLength,
    ),
    image: absolute(
      first(
        'og:image',
        'og:image:url',
        'og:image:secure_url',
        'twitter:image',
        'twitter:image:src',
        'image_src',
      ),
      url,
    ),
    siteName: clean(
      first('og:site_name', 'application-name') ?? url.hostname.replace(/^www\./, ''),
      siteNameLength,
    ),
    type: type.startsWith('video') ? 'video' : type === 'article' ? 'article' : 'website',
  }
}

/** The first value of each name, and the first title. */
async function collect(html: string) {
  const meta = new Map<string, string>()
  let title = ''
  let isTitle = false
  let depth = 0
  const note = (name: string | undefined, value: string | undefined) => {
    const key = name?.trim().toLowerCase() ?? ''
    if (key && value && !meta.has(key)) meta.set(key, value.slice(0, MAX_VALUE))
  }
  const parser = new Parser({
    onopentag: (name, attributes) => {
      depth += 1
      if (name === 'meta')
        for (const key of [attributes.property, attributes.name]) note(key, attributes.content)
      if (name === 'link' && attributes.rel === 'image_src') note('image_src', attributes.href)
      isTitle = name === 'title' && title === '' && depth <= TITLE_DEPTH
    },
    ontext: (text) => {
      if (isTitle && title.length < MAX_VALUE) title += text
    },
    onclosetag: () => {
      depth -= 1
      isTitle = false
    },
  })
  for (let start = 0; start < html.length && depth < MAX_DEPTH; start += PIECE) {
    parser.write(html.slice(start, start + PIECE))
    await setImmediate()
  }
  return { meta, title }
}
/** A title deeper down is that of a drawing. */
const TITLE_DEPTH = 3

/** By the byte order mark, the header, the page's own word, and else UTF-8, or what browsers take for it. */
function decode(body: Buffer, contentType: string) {
  const declared =
    CHARSET.exec(contentType)?.[1] ?? CHARSET.exec(body.subarray(0, 1_024).toString('latin1'))?.[1]
  const encoding =
    body[0] === 0xfe && body[1] === 0xff
      ? 'utf-16be'
      : body[0] === 0xff && body[1] === 0xfe
        ? 'utf-16le'
        : declared
  try {
    return new TextDecoder(encoding ?? 'utf-8', { fatal: encoding === undefined }).decode(body, {
      stream: true,
    })
  } catch {
    // Not UTF-8 after all, or a charset nobody knows.
    return new TextDecoder(encoding === undefined ? 'windows-1252' : 'utf-8').decode(body)
  }
}
const CHARSET = /charset\s*=\s*["']?([\w:.-]{1,40})/i

/** One line of text that JSON and Postgres can hold, or nothing. */
export function clean(text: string | undefined, maxLength: number) {
  const line = (text ?? '')
    .slice(0, MAX_VALUE)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Z}]+/gu, ' ')
    .trim()
  return [...line].slice(0, maxLength).join('') || null
}

function absolute(address: string | undefined, base: URL) {
  if (address === undefined || !URL.canParse(address.trim(), base.href)) return null
  const { protocol, href } = new URL(address.trim(), base)
  return (protocol === 'http:' || protocol === 'https:') && href.length <= limits.urlLength
    ? href
    : null
}
