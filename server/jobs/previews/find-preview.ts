import { type LinkPreview, limits } from '@parley/contract'
import { z } from 'zod'
import type { Fetch } from './fetch.ts'
import { readPage, toSingleLine } from './page.ts'
import { type Video, videoAt } from './videos.ts'

/** The preview of a URL. `isComplete` is false if its site gave no usable answer. */
export type PreviewResult = { url: string; preview: LinkPreview | null; isComplete: boolean }

/** Finds the preview of a URL. A video has one even when its site does not answer. */
export async function findPreview(
  url: string,
  { fetch, signal }: { fetch: Fetch; signal: AbortSignal },
): Promise<PreviewResult> {
  const video = videoAt(url)
  if (video) return findVideoPreview(video, { fetch, signal })
  const page = await fetch(url, { type: 'html', signal })
  const facts = page && (await readPage(page))
  const isWorthShowing = facts && (facts.title ?? facts.description ?? facts.image) !== null
  return { url, preview: isWorthShowing ? { url, ...facts } : null, isComplete: page !== undefined }
}

const OEmbed = z.object({
  title: z.string(),
  author_name: z.string().optional(),
  thumbnail_url: z
    .url({ protocol: /^https$/ })
    .max(limits.urlLength)
    .optional(),
})

async function findVideoPreview(
  { preview, oEmbedUrl }: Video,
  { fetch, signal }: { fetch: Fetch; signal: AbortSignal },
): Promise<PreviewResult> {
  const response = await fetch(oEmbedUrl, { type: 'json', signal })
  const facts = response && parseOEmbed(response.body)
  if (!facts) return { url: preview.url, preview, isComplete: false }
  const { titleLength, siteNameLength } = limits.linkPreview
  const authorName = toSingleLine(facts.author_name, siteNameLength)
  return {
    url: preview.url,
    preview: {
      ...preview,
      title: toSingleLine(facts.title, titleLength) ?? preview.title,
      image: facts.thumbnail_url ?? preview.image,
      ...(authorName ? { authorName } : {}),
    },
    isComplete: true,
  }
}

/** Undefined if the body is not the JSON that oEmbed defines. */
function parseOEmbed(body: Buffer) {
  try {
    return OEmbed.safeParse(JSON.parse(body.toString('utf8'))).data
  } catch {
    return undefined
  }
}
