import { type LinkPreview, limits } from '@parley/contract'
import { z } from 'zod'
import type { Fetch } from './fetch.ts'
import { clean, readPage } from './page.ts'
import { type Video, videoAt } from './videos.ts'

/** What was found behind a URL, and whether that was all there is to find. */
export type Finding = { url: string; preview: LinkPreview | null; isComplete: boolean }

/** Finds out what a URL leads to. A video has a preview even when its site does not answer. */
export async function look(
  url: string,
  { fetch, signal }: { fetch: Fetch; signal: AbortSignal },
): Promise<Finding> {
  const video = videoAt(url)
  if (video) return lookAtVideo(video, { fetch, signal })
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

async function lookAtVideo(
  { preview, oEmbed }: Video,
  { fetch, signal }: { fetch: Fetch; signal: AbortSignal },
): Promise<Finding> {
  const answer = await fetch(oEmbed, { type: 'json', signal })
  const told = answer && parse(answer.body)
  if (!told) return { url: preview.url, preview, isComplete: false }
  const { titleLength, siteNameLength } = limits.linkPreview
  const authorName = clean(told.author_name, siteNameLength)
  return {
    url: preview.url,
    preview: {
      ...preview,
      title: clean(told.title, titleLength) ?? preview.title,
      image: told.thumbnail_url ?? preview.image,
      ...(authorName ? { authorName } : {}),
    },
    isComplete: true,
  }
}

/** What a stranger's JSON says, if it is what it should be. */
function parse(body: Buffer) {
  try {
    return OEmbed.safeParse(JSON.parse(body.toString('utf8'))).data
  } catch {
    return undefined
  }
}
