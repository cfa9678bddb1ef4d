import { limits } from '@parley/contract'
import { LinkifyIt } from 'linkify-it'
import { outsideCode } from './mentions.ts'

/** The first links of a text, as written, each once; code spans contain no links. */
export function linksIn(text: string): string[] {
  if (!/https?:\/\//i.test(text)) return []
  const found = new Map<string, string>()
  for (const { raw: url } of linkify.match(outsideCode(text)) ?? []) {
    if (found.size === limits.linkPreviews) break
    if (url.length > limits.urlLength || !URL.canParse(url)) continue
    const { href } = new URL(url)
    if (!found.has(href)) found.set(href, url)
  }
  return [...found.values()]
}

const linkify = new LinkifyIt({ fuzzyLink: false, fuzzyEmail: false, maxLength: limits.urlLength })
  .add('ftp:', null)
  .add('mailto:', null)
  .add('//', null)
