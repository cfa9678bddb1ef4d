import { isDeepStrictEqual } from 'node:util'
import type { LinkPreview } from '@parley/contract'
import type { WriteContext } from '../../core/context.ts'
import { lockedMessageForApp } from './access.ts'
import { publishMessageUpdate } from './announce.ts'
import { linksIn } from './links.ts'

/** The previews of these links, in their order, as far as there are any. */
export const previewsOf = (links: string[], known: readonly LinkPreview[] | null) =>
  links.flatMap((link) => known?.find(({ url }) => url === link) ?? [])

type Found = { appId: string; channelId: string; messageId: string; previews: LinkPreview[] }

/** Gives a message the previews that were found for its links. A link that the text has lost meanwhile gets none, a deleted message is NOT_FOUND. */
export async function attachPreviews(
  ctx: Pick<WriteContext, 'db' | 'emit' | 'write'>,
  { previews: found, ...ref }: Found,
) {
  const { channel, message } = await lockedMessageForApp(ctx, ref)
  const previews = previewsOf(linksIn(message.text), [...found, ...(message.linkPreviews ?? [])])
  if (isDeepStrictEqual(previews, message.linkPreviews ?? [])) return
  await ctx.db`update messages set link_previews = ${ctx.db.json(previews)}, updated_at = ${message.now} where id = ${message.id}`
  await publishMessageUpdate(ctx, { channel, messageId: message.id, viewer: null })
}
