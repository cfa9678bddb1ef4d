import { sha256 } from '../../core/hash.ts'
import { memberKey } from '../../core/user-ref.ts'
import type { Tx } from '../../db/client.ts'
import { jsonOf } from '../../db/sql.ts'
import { dmKeyOf, slugOf } from '../channels/create.ts'
import { mentionsIn } from '../messages/mentions.ts'
import { insertSystemUser, SYSTEM_USER } from '../system-user.ts'
import { reactionKey } from './facts.ts'
import type { ParsedRecord } from './records.ts'
import type { Facts } from './rules.ts'

/** Creates the users who do not exist, and returns their ids. Others are left as they are. */
export async function insertUsers(db: Tx, appId: string, parsed: ParsedRecord<'user'>[]) {
  if (parsed.length === 0) return new Set<string>()
  // If an id comes more than once, the first record counts.
  const byId = new Map(parsed.toReversed().map(({ record }) => [record.id, record]))
  const created = await db<{ id: string }[]>`
    insert into users (app_id, id, name, email, image, custom, created_at, updated_at)
    select
      ${appId}, id, name, email, image, coalesce(custom, '{}'),
      coalesce("createdAt", now()), coalesce("createdAt", now())
    from jsonb_to_recordset(${jsonOf(db, [...byId.values()])}) as given (
      id text, name text, email text, image text, custom jsonb, "createdAt" timestamptz
    )
    order by id
    on conflict do nothing
    returning id`
  return new Set(created.map(({ id }) => id))
}

/** The key of a direct message. */
export const pairOf = ({ memberIds }: ParsedRecord<'channel'>['record']) =>
  memberIds && dmKeyOf(memberIds)

/**
 * This many characters of a hash distinguish channels of the same name, however many there are, and
 * direct messages of the same two: an erasure takes the pair of one away, but not its cid.
 */
const SUFFIX = 16

/** Creates channels that nobody sees. */
export async function insertChannels(
  db: Tx,
  appId: string,
  parsed: (ParsedRecord<'channel'> & { id: string })[],
) {
  if (parsed.length === 0) return
  if (parsed.some(({ record }) => record.createdBy === undefined)) await insertSystemUser(db, appId)
  const rows = parsed.map(({ id, record }) => {
    const dmKey = pairOf(record)
    const createdBy = record.createdBy ?? SYSTEM_USER.id
    const cid = `${record.type}:${slugOf({ ...record, dmKey })}-${sha256(id).slice(0, SUFFIX)}`
    return { ...record, id, dmKey, createdBy, cid }
  })
  await db`
    insert into channels (
      id, app_id, cid, type,
      name, image, description,
      created_by, dm_key, frozen, custom,
      last_activity_at, created_at, deleted_at
    )
    select
      id, ${appId}, cid, type,
      name, image, description,
      "createdBy", "dmKey", frozen, custom,
      "createdAt", "createdAt", 'infinity'
    from jsonb_to_recordset(${jsonOf(db, rows)}) as given (
      id uuid, cid text, type text,
      name text, image text, description text,
      "createdBy" text, "dmKey" text, frozen boolean, custom jsonb,
      "createdAt" timestamptz
    )`
}

/** The unread marker of a member before the channel is finished: it is set then. */
export const UNSET_MARKER = -1

type NewMembers = {
  channels: (ParsedRecord<'channel'> & { id: string })[]
  members: ParsedMember[]
}
type ParsedMember = ParsedRecord<'member'> & { channelId: string }

/** Adds members, and the two of each direct message. */
export async function insertMembers(db: Tx, appId: string, { channels, members }: NewMembers) {
  const ofPairs = channels.flatMap(({ id, record }) =>
    (record.memberIds ?? []).map((userId) => ({
      channelId: id,
      userId,
      role: userId === record.createdBy ? 'owner' : 'member',
      joinedAt: record.createdAt,
    })),
  )
  const others = members.map(({ channelId, record }) => ({ ...record, channelId }))
  const rows = [...ofPairs, ...others]
  if (rows.length === 0) return
  await db`
    insert into members (app_id, channel_id, user_id, role, unread_after_seq, custom, joined_at)
    select ${appId}, "channelId", "userId", role, ${UNSET_MARKER}, custom, "joinedAt"
    from jsonb_to_recordset(${jsonOf(db, rows)}) as given (
      "channelId" uuid, "userId" text, role text, custom jsonb, "joinedAt" timestamptz
    )
    on conflict do nothing`
}

/** A record that waits until the whole file was read. */
type ImportedRow = {
  record: 'message' | 'reaction' | 'pin' | 'read'
  key: string
  channelId: string
  line: number
  createdAt: string
  row: object
}

/** Stores records that wait; returns the lines of those that were not waiting already. */
export async function insertWaiting(db: Tx, appId: string, waiting: ImportedRow[]) {
  if (waiting.length === 0) return new Set<number>()
  if (waiting.some(({ row }) => 'type' in row && row.type === 'system'))
    await insertSystemUser(db, appId)
  const inserted = await db<{ line: number }[]>`
    insert into imported_rows (app_id, record, key, channel_id, line, "row", created_at)
    select ${appId}, record, key, "channelId", line, "row", "createdAt"
    from jsonb_to_recordset(${jsonOf(db, waiting)}) as given (
      record text, key text, "channelId" uuid, line int, "row" jsonb, "createdAt" timestamptz
    )
    order by line
    on conflict do nothing
    returning line`
  return new Set(inserted.map(({ line }) => line))
}

export function waitingMessage(
  { messages, ...facts }: Facts,
  { line, record }: ParsedRecord<'message'>,
): ImportedRow {
  const id = facts.messageId(record.id)
  const {
    type,
    userId = SYSTEM_USER.id,
    text,
    attachments,
    custom = null,
    editedAt = null,
  } = record
  const isSystem = type === 'system'
  return {
    record: 'message',
    key: id,
    channelId: facts.channelId(record.channelId),
    line,
    createdAt: record.createdAt,
    row: {
      userId,
      type: isSystem ? type : null,
      silent: isSystem || record.silent ? true : null,
      text,
      mentions: mentionsIn(text),
      attachments,
      custom: isEmpty(custom) ? null : custom,
      parentId: messages.get(id)?.parentId ?? null,
      quotedId: quotedIn({ messages, ...facts }, record),
      editedAt,
    },
  }
}

/** The message that is quoted, if it is there: it may have been deleted. */
function quotedIn(facts: Facts, { channelId, quotedMessageId }: ParsedRecord<'message'>['record']) {
  if (quotedMessageId === undefined) return null
  const id = facts.messageId(quotedMessageId)
  return facts.messages.get(id)?.channelId === facts.channelId(channelId) ? id : null
}

const isEmpty = (custom: object | null) => custom === null || Object.keys(custom).length === 0

export function waitingReaction(
  facts: Facts,
  { line, record }: ParsedRecord<'reaction'>,
): ImportedRow {
  const { userId, emoji, createdAt } = record
  const messageId = facts.messageId(record.messageId)
  return {
    record: 'reaction',
    key: reactionKey({ messageId, emoji, userId }),
    channelId: facts.messages.get(messageId)?.channelId ?? '',
    line,
    createdAt,
    row: { messageId, userId, emoji },
  }
}

export function waitingPin(facts: Facts, { line, record }: ParsedRecord<'pin'>): ImportedRow {
  const { userId, createdAt } = record
  const messageId = facts.messageId(record.messageId)
  const channelId = facts.messages.get(messageId)?.channelId ?? ''
  return { record: 'pin', key: messageId, channelId, line, createdAt, row: { messageId, userId } }
}

export function waitingRead(facts: Facts, { line, record }: ParsedRecord<'read'>): ImportedRow {
  const { userId, createdAt } = record
  const messageId = facts.messageId(record.messageId)
  const channelId = facts.channelId(record.channelId)
  const key = memberKey({ channelId, userId })
  return { record: 'read', key, channelId, line, createdAt, row: { messageId, userId } }
}
