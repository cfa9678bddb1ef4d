import { isDeepStrictEqual } from 'node:util'
import { contract, limits } from '@parley/contract'
import { ApiError } from '../../core/errors.ts'
import { JsonText } from '../../core/json-text.ts'
import { type Implements, implement, implementWithoutTransaction } from '../../core/operation.ts'
import type { Fragment, Tx } from '../../db/client.ts'
import { pipelined } from '../../db/pipelined.ts'
import { channelForReader } from '../access.ts'
import { mergeCustom } from '../custom.ts'
import { deleteStream, enqueuePush } from '../streams/end.ts'
import { lockedMessageForAuthor } from './access.ts'
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
    const within =
      sinceSeq === undefined
        ? ctx.db`msg.channel_id = ${channelId} and ${isListed}`
        : ctx.db`msg.channel_id = ${channelId}`
    const cursor = before ?? after
    const read = (cursorSeq: number | null) =>
      readPage(ctx.db, {
        within,
        isForward: after !== undefined || sinceSeq !== undefined,
        from: sinceSeq ?? cursorSeq,
        limit,
        viewer: ctx.caller.userId,
      })
    const access = channelForReader(ctx, channelId, cursor)
    // Without a cursor both are read in one round trip; who may not read gets nothing of it.
    const [{ channel }, page] = await pipelined([
      access,
      cursor === undefined ? read(null) : access.then(({ cursorSeq }) => read(cursorSeq)),
    ])
    const maxSeq = Math.max(channel.lastSeq, page.lastSeq)
    return new JsonText(`{${page.json},"maxSeq":${maxSeq}}`)
  },
)

const replies = implementWithoutTransaction(
  contract.messages.replies,
  async (ctx, { channelId, messageId, limit, before, after }) => {
    await channelForReader(ctx, channelId, messageId)
    const { cursorSeq } = await channelForReader(ctx, channelId, before ?? after)
    const { json } = await readPage(ctx.db, {
      within: ctx.db`msg.parent_id = ${messageId} and msg.deleted_at is null`,
      isForward: after !== undefined,
      from: cursorSeq,
      limit,
      viewer: ctx.caller.userId,
    })
    return new JsonText(`{${json}}`)
  },
)

type PageRequest = {
  within: Fragment
  isForward: boolean
  from: number | null
  limit: number
  viewer: string | null
}

/**
 * A page ascending by seq, read in either direction, as fields of JSON; one row more shows whether
 * more follow.
 */
async function readPage(db: Tx, { within, isForward, from, limit, viewer }: PageRequest) {
  const beyond = isForward
    ? db`msg.seq > ${from ?? 0}`
    : db`msg.seq < ${from ?? limits.largestInteger}`
  const direction = isForward ? db`` : db`desc`
  const rows = db`
    select msg.*
    from messages msg
    where ${within}
      and ${beyond}
    order by msg.seq ${direction}
    limit ${limit + 1}`
  const page = await selectMessagePage(db, { viewer, rows, order: db`page.seq ${direction}` })
  const shown = page.shown.slice(0, limit)
  if (!isForward) shown.reverse()
  const messages = shown.map(({ json }) => json).join()
  const hasMore = page.found > shown.length
  return {
    json: `"messages":[${messages}],"hasMore":${hasMore}`,
    lastSeq: shown.at(-1)?.message.seq ?? 0,
  }
}

const get = implementWithoutTransaction(
  contract.messages.get,
  async (ctx, { channelId, messageId }) => {
    await channelForReader(ctx, channelId)
    const which = ctx.db`
      where msg.id = ${messageId}
        and msg.channel_id is not distinct from ${channelId}
        and msg.deleted_at is null`
    const [message] = await selectMessages(ctx.db, { viewer: ctx.caller.userId, which })
    if (!message) throw new ApiError('NOT_FOUND', 'Message not found')
    return message
  },
)

const edit = implement(
  contract.messages.edit,
  async (ctx, { channelId, messageId, ifEditedAt, ...changes }) => {
    const { channel, message } = await lockedMessageForAuthor(ctx, { channelId, messageId })
    const { attachments, now } = message
    const { text = message.text } = changes
    const endsStream = message.streaming === true && changes.text !== undefined
    if (changes.text === '' && Array.isArray(attachments) && attachments.length === 0) {
      throw new ApiError('VALIDATION_ERROR', 'text: expected at least 1 character')
    }
    const viewer = ctx.caller.userId
    const custom = mergeCustom(message.custom, changes.custom)
    const hasNewText = text !== message.text || endsStream
    if (!hasNewText && isDeepStrictEqual(custom, message.custom)) {
      return viewMessage(ctx, { messageId, viewer })
    }
    if (hasNewText && ifEditedAt !== undefined && !isSameTime(ifEditedAt, message.editedAt)) {
      throw new ApiError('CONFLICT', 'The message was edited meanwhile')
    }
    // What is derived from a text that grows follows at its end.
    const settled = message.streaming && !endsStream ? '' : text
    const links = linksIn(settled)
    const previews = previewsOf(links, message.linkPreviews)
    if (previews.length < links.length) ctx.enqueue('preview', { messageId })
    const linkPreviews = previews.length > 0 ? ctx.db.json(previews) : null
    if (endsStream) {
      ctx.write(deleteStream(ctx.db, message))
      enqueuePush(ctx, message)
    }
    await ctx.db`
    update messages
    set
      text = ${text}, mentions = ${mentionsIn(settled)}, link_previews = ${linkPreviews},
      custom = ${custom && ctx.db.json(custom as never)},
      streaming = ${endsStream ? false : message.streaming},
      edited_at = ${hasNewText ? now : message.editedAt}, updated_at = ${now}
    where id = ${messageId}`
    return publishMessageUpdate(ctx, { channel, messageId, viewer })
  },
)

/** By milliseconds, as times are shown. */
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
