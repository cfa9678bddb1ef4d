import { contract, limits } from '@parley/contract'
import { fail } from '../../core/errors.ts'
import { type Implements, implement, implementWithoutTransaction } from '../../core/operation.ts'
import type { Fragment, Tx } from '../../db/client.ts'
import { channelForReader } from '../access.ts'
import { lockedMessageForAuthor } from './access.ts'
import { publishMessageUpdate, viewMessage } from './announce.ts'
import { remove } from './delete.ts'
import { linksIn } from './links.ts'
import { mentionsIn } from './mentions.ts'
import { previewsOf } from './previews.ts'
import { send } from './send.ts'
import { selectMessages, toMessage } from './view.ts'

const list = implementWithoutTransaction(
  contract.messages.list,
  async (ctx, { channelId, limit, before, after, since_seq: sinceSeq }) => {
    const { channel, standing } = await channelForReader(ctx, channelId, before ?? after)
    const within =
      sinceSeq === undefined
        ? ctx.db`m.channel_id = ${channelId} and m.deleted_at is null`
        : ctx.db`m.channel_id = ${channelId}`
    const isForward = after !== undefined || sinceSeq !== undefined
    const page = await readPage(ctx.db, {
      within,
      isForward,
      from: sinceSeq ?? standing.cursorSeq,
      limit,
      viewer: ctx.caller.userId,
    })
    return { ...page, maxSeq: Math.max(channel.lastSeq, page.messages.at(-1)?.seq ?? 0) }
  },
)

const replies = implementWithoutTransaction(
  contract.messages.replies,
  async (ctx, { channelId, messageId, limit, before, after }) => {
    await channelForReader(ctx, channelId, messageId)
    const { standing } = await channelForReader(ctx, channelId, before ?? after)
    const within = ctx.db`m.parent_id = ${messageId} and m.deleted_at is null`
    return readPage(ctx.db, {
      within,
      isForward: after !== undefined,
      from: standing.cursorSeq,
      limit,
      viewer: ctx.caller.userId,
    })
  },
)

type PageQuery = {
  within: Fragment
  isForward: boolean
  from: number | null
  limit: number
  viewer: string
}

/** A page ascending by seq, read from its cursor in either direction. One more than asked tells whether there is more. */
async function readPage(db: Tx, { within, isForward, from, limit, viewer }: PageQuery) {
  const which = isForward
    ? db`where ${within} and m.seq > ${from ?? 0} order by m.seq limit ${limit + 1}`
    : db`where ${within} and m.seq < ${from ?? limits.largestInteger} order by m.seq desc limit ${limit + 1}`
  const views = await selectMessages(db, { viewer, which })
  const messages = views.slice(0, limit).map(toMessage)
  return { messages: isForward ? messages : messages.reverse(), hasMore: views.length > limit }
}

const get = implementWithoutTransaction(
  contract.messages.get,
  async (ctx, { channelId, messageId }) => {
    await channelForReader(ctx, channelId)
    const which = ctx.db`where m.id = ${messageId} and m.channel_id = ${channelId} and m.deleted_at is null`
    const [view] = await selectMessages(ctx.db, { viewer: ctx.caller.userId, which })
    return view ? toMessage(view) : fail('NOT_FOUND', 'Message not found')
  },
)

const edit = implement(contract.messages.edit, async (ctx, { channelId, messageId, text }) => {
  const { channel, message } = await lockedMessageForAuthor(ctx, { channelId, messageId })
  if (text === '' && Array.isArray(message.attachments) && message.attachments.length === 0)
    return fail('VALIDATION_ERROR', 'text: expected at least 1 character')
  if (text === message.text) return viewMessage(ctx, { messageId, viewer: ctx.caller.userId })
  const { now } = message
  const links = linksIn(text)
  const kept = previewsOf(links, message.linkPreviews)
  if (kept.length < links.length) ctx.enqueue('preview', { messageId })
  await ctx.db`
    update messages set text = ${text}, mentions = ${mentionsIn(text)}, link_previews = ${kept.length > 0 ? ctx.db.json(kept) : null}, edited_at = ${now}, updated_at = ${now} where id = ${messageId}`
  return publishMessageUpdate(ctx, { channel, messageId, viewer: ctx.caller.userId })
})

export const messages = {
  list,
  get,
  replies,
  send,
  edit,
  delete: remove,
} satisfies Implements<'messages'>
