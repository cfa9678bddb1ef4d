import { isDeepStrictEqual } from 'node:util'
import { contract, limits } from '@parley/contract'
import { ApiError } from '../../core/errors.ts'
import { JsonText } from '../../core/json-text.ts'
import { type Implements, implement, implementWithoutTransaction } from '../../core/operation.ts'
import { messageNotFound } from '../../core/refusals.ts'
import type { Fragment, Tx } from '../../db/client.ts'
import { pipelined } from '../../db/pipelined.ts'
import { jsonOf } from '../../db/sql.ts'
import { channelForReader, isReadable, type ReaderContext, seqOf } from '../channels/access.ts'
import { deleteStream, enqueuePush } from '../streams/end.ts'
import { lockedMessageForAuthor } from './access.ts'
import { type Edit, isAsScreened, screenEdit } from './before-send.ts'
import { contentAfter, hasContent } from './content-after.ts'
import { remove } from './delete.ts'
import { linksIn } from './links.ts'
import { mentionsIn } from './mentions.ts'
import { selectMessagePage } from './page.ts'
import { previewsOf } from './previews.ts'
import { publishMessageUpdate, viewMessage } from './publish.ts'
import { send } from './send.ts'
import { sendBatch } from './send-batch.ts'
import { isLive, isLiveRoot, selectMessages } from './view.ts'

const list = implementWithoutTransaction(
  contract.messages.list,
  async (ctx, { channelId, limit, before, after, since_seq: sinceSeq, replies }) => {
    const isListed = replies !== false ? isLive(ctx.db) : isLiveRoot(ctx.db)
    const condition =
      sinceSeq === undefined
        ? ctx.db`msg.channel_id = ${channelId} and ${isListed}`
        : ctx.db`msg.channel_id = ${channelId}`
    const cursor = before ?? after
    // Read in one round trip; without the right to read, the query returns nothing.
    const [{ lastSeq }, page] = await pipelined([
      channelForReader(ctx, channelId, cursor),
      readPage(ctx, {
        channelId,
        condition,
        isForward: after !== undefined || sinceSeq !== undefined,
        from: sinceSeq ?? positionOf(ctx.db, channelId, cursor),
        limit,
      }),
    ])
    const maxSeq = Math.max(lastSeq, page.lastSeq)
    return new JsonText(`{${page.json},"maxSeq":${maxSeq}}`)
  },
)

const replies = implementWithoutTransaction(
  contract.messages.replies,
  async (ctx, { channelId, messageId, limit, before, after }) => {
    const cursor = before ?? after
    const [, , { json }] = await pipelined([
      channelForReader(ctx, channelId, messageId),
      cursor === undefined || channelForReader(ctx, channelId, cursor),
      readPage(ctx, {
        channelId,
        condition: ctx.db`msg.parent_id = ${messageId} and ${isLive(ctx.db)}`,
        isForward: after !== undefined,
        from: positionOf(ctx.db, channelId, cursor),
        limit,
      }),
    ])
    return new JsonText(`{${json}}`)
  },
)

/** The position of a message at which a page begins. A page at an unknown one is empty. */
const positionOf = (db: Tx, channelId: string, messageId: string | undefined) =>
  messageId === undefined ? undefined : seqOf(db, { channelId, messageId })

type PageRequest = {
  channelId: string
  condition: Fragment
  isForward: boolean
  from: number | Fragment | undefined
  limit: number
}

/**
 * A page ascending by seq, read in either direction, as fields of JSON; one row more shows whether
 * more follow.
 */
async function readPage(ctx: ReaderContext, request: PageRequest) {
  const { db, caller } = ctx
  const { channelId, condition, isForward, from, limit } = request
  const beyond = isForward
    ? db`msg.seq > ${from ?? 0}`
    : db`msg.seq < ${from ?? limits.largestInteger}`
  const order = isForward ? db`msg.seq` : db`msg.seq desc`
  const rows = db`
    select msg.*
    from messages msg
    where ${condition}
      and ${beyond}
      and ${isReadable(ctx, channelId)}
    order by ${order}
    limit ${limit + 1}`
  const page = await selectMessagePage(db, { viewer: caller.userId, rows, order, channelId })
  const shown = page.shown.slice(0, limit)
  if (!isForward) shown.reverse()
  const messages = shown.map(({ json }) => json).join()
  const hasMore = page.isCut || page.shown.length > limit
  return { json: `"messages":[${messages}],"hasMore":${hasMore}`, lastSeq: shown.at(-1)?.seq ?? 0 }
}

const get = implementWithoutTransaction(
  contract.messages.get,
  async (ctx, { channelId, messageId }) => {
    const which = ctx.db`
      where msg.id = ${messageId}
        and msg.channel_id is not distinct from ${channelId}
        and msg.deleted_at is null
        and ${isReadable(ctx, channelId)}`
    const [, [message]] = await pipelined([
      channelForReader(ctx, channelId),
      selectMessages(ctx.db, { viewer: ctx.caller.userId, which }),
    ])
    if (!message) throw messageNotFound()
    return message
  },
)

const edit = implement(
  contract.messages.edit,
  async (ctx, { channelId, messageId, ifEditedAt, screened, ...changes }: Edit) => {
    const { channel, message } = await lockedMessageForAuthor(ctx, { channelId, messageId })
    const { now } = message
    const { text, custom } = contentAfter(message, changes)
    const endsStream = message.streaming === true && changes.text !== undefined
    const completes = message.interrupted === true && changes.text !== undefined
    const viewer = ctx.caller.userId
    const hasNewText = text !== message.text || endsStream || completes
    if (!hasNewText && isDeepStrictEqual(custom, message.custom)) {
      return viewMessage(ctx, { messageId, viewer })
    }
    const isOutdated =
      hasNewText && ifEditedAt !== undefined && !isSameTime(ifEditedAt, message.editedAt)
    if (isOutdated || !isAsScreened(message, screened)) {
      throw new ApiError('CONFLICT', 'The message was edited meanwhile')
    }
    // For a growing text, what is derived from it follows at its end.
    const settled = message.streaming && !endsStream ? '' : text
    const links = linksIn(settled)
    const previews = previewsOf(links, message.linkPreviews)
    if (previews.length < links.length) ctx.enqueue('preview', { messageId })
    const linkPreviews = previews.length > 0 ? ctx.db.json(previews) : null
    if (endsStream) ctx.queueWrite(deleteStream(ctx.db, message))
    const endedEmpty = message.streaming === false && !hasContent(message)
    if (endsStream || (endedEmpty && text !== '')) enqueuePush(ctx, message)
    await ctx.db`
      update messages
      set
        text = ${text}, mentions = ${mentionsIn(settled)}, link_previews = ${linkPreviews},
        custom = ${custom && jsonOf(ctx.db, custom)},
        streaming = ${endsStream ? false : message.streaming},
        interrupted = ${completes ? null : message.interrupted},
        edited_at = ${hasNewText ? now : message.editedAt}, updated_at = ${now}
      where id = ${messageId}`
    return publishMessageUpdate(ctx, { channel, messageId, viewer })
  },
  screenEdit,
)

/** Compares milliseconds, as times are shown. */
const isSameTime = (a: string | null, b: string | null) =>
  a === b || (a !== null && b !== null && Date.parse(a) === Date.parse(b))

export const messages = {
  list,
  get,
  replies,
  send,
  sendBatch,
  edit,
  delete: remove,
} satisfies Implements<'messages'>
