import type { Message } from '@parley/contract'
import { SYSTEM_USER } from '../system-user.ts'

/**
 * A message as it is read, to be written as JSON: without names, since objects of so many columns
 * are slow to make. Null is what most messages have; what is JSON in the database comes as text.
 */
export type MessageValues = [
  id: string,
  /** Null if it is the channel that was asked for. */
  channelId: string | null,
  type: Message['type'] | null,
  userId: string,
  authorName: string,
  authorImage: string | null,
  text: string,
  seq: number,
  rev: number,
  reactions: string | null,
  mentions: string | null,
  attachments: string | null,
  parentId: string | null,
  replyCount: number | null,
  isPinned: boolean,
  clientId: string | null,
  createdAt: string,
  /** Null if it is the time of creation. */
  updatedAt: string | null,
  editedAt: string | null,
  deletedAt: string | null,
  quoted: string | null,
  linkPreviews: string | null,
  custom: string | null,
  silent: boolean | null,
  streaming: boolean | null,
  interrupted: boolean | null,
]

/**
 * The message as JSON, field by field: an object would cost several times as much to make and
 * write, and a template leaves a piece of garbage behind for each field. `channelId` is where all
 * messages of the query are, if it was asked about one channel.
 */
export function messageJson(
  [
    id,
    ownChannelId,
    type,
    userId,
    authorName,
    authorImage,
    text,
    seq,
    rev,
    reactions,
    mentions,
    attachments,
    parentId,
    replyCount,
    isPinned,
    clientId,
    createdAt,
    updatedAt,
    editedAt,
    deletedAt,
    quoted,
    linkPreviews,
    custom,
    silent,
    streaming,
    interrupted,
  ]: [...MessageValues, ...unknown[]],
  channelId = '',
): string {
  const author = JSON.stringify(userId)
  const hasNothingAdded =
    reactions === null &&
    mentions === null &&
    attachments === null &&
    parentId === null &&
    replyCount === null &&
    !isPinned
  let more = ''
  if (quoted !== null) more += `,"quotedMessage":${quoted}`
  if (custom !== null) more += `,"custom":${custom}`
  if (silent) more += ',"silent":true'
  if (streaming !== null) more += `,"streaming":${streaming}`
  if (interrupted) more += ',"interrupted":true'
  if (linkPreviews !== null) more += `,"linkPreviews":${linkPreviews}`
  return [
    '{"id":"',
    id,
    '","channelId":"',
    ownChannelId ?? channelId,
    '","type":"',
    type ?? 'regular',
    '","userId":',
    author,
    ',"text":',
    JSON.stringify(text),
    ',"seq":',
    seq,
    ',"rev":',
    rev,
    ',"user":{"id":',
    author,
    ',"name":',
    JSON.stringify(type === 'system' ? SYSTEM_USER.name : authorName),
    ',"image":',
    orNull(type === 'system' ? SYSTEM_USER.image : authorImage),
    hasNothingAdded
      ? NOTHING_ADDED
      : `},"reactions":${reactions ?? '[]'},"mentions":${mentions ?? '[]'},` +
        `"attachments":${attachments ?? '[]'},"parentId":${quote(parentId)},` +
        `"replyCount":${replyCount ?? 0},"pinned":${isPinned},"clientId":`,
    orNull(clientId),
    ',"createdAt":"',
    createdAt,
    '","updatedAt":"',
    updatedAt ?? createdAt,
    '","editedAt":',
    quote(editedAt),
    ',"deletedAt":',
    quote(deletedAt),
    more,
    '}',
  ].join('')
}

const NOTHING_ADDED =
  '},"reactions":[],"mentions":[],"attachments":[],"parentId":null,' +
  '"replyCount":0,"pinned":false,"clientId":'
const orNull = (text: string | null) => (text === null ? 'null' : JSON.stringify(text))

/** An id or a time, in which nothing has to be escaped. */
export const quote = (value: string | null) => (value === null ? 'null' : `"${value}"`)
