import { isDeepStrictEqual } from 'node:util'
import type { LinkPreview } from '@parley/contract'
import type { WriteContext } from '../../core/context.ts'
import { lockedMessageForApp } from './access.ts'
import { linksIn } from './links.ts'
import { publishMessageUpdate } from './publish.ts'

/** The known previews of these links, in the order of the links. */
export const previewsOf = (links: string[], known: readonly LinkPreview[] | null) =>
  links.flatMap((link) => known?.find(({ url }) => url === link) ?? [])

type PreviewsOfMessage = {
  appId: string
  channelId: string
  messageId: string
  previews: LinkPreview[]
}

/**
 * Gives a message the previews that were found for its links. A link that was edited out meanwhile
 * gets none; a deleted message is NOT_FOUND.
 */
export async function attachPreviews(
  ctx: Pick<WriteContext, 'db' | 'emit' | 'queueWrite'>,
  { previews: found, ...ref }: PreviewsOfMessage,
) {
  const { channel, message } = await lockedMessageForApp(ctx, ref)
  const before = message.linkPreviews ?? []
  const previews = previewsOf(linksIn(message.text), [...found, ...before])
  if (isDeepStrictEqual(previews, before)) return
  await ctx.db`
    update messages
    set link_previews = ${ctx.db.json(previews)}, updated_at = ${message.now}
    where id = ${message.id}`
  await publishMessageUpdate(ctx, { channel, messageId: message.id, viewer: null })
}
