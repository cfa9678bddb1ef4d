import type { ImportKind } from '@parley/contract'
import type { Tx } from '../../db/client.ts'
import {
  selectChannelFacts,
  selectMemberFacts,
  selectMessageFacts,
  selectStored,
  selectTakenPairs,
  selectUserFacts,
} from './facts.ts'
import { noteChannels } from './read-channels.ts'
import { idOf, type ParsedRecord } from './records.ts'
import * as rules from './rules.ts'
import {
  insertChannels,
  insertMembers,
  insertUsers,
  insertWaiting,
  pairOf,
  waitingMessage,
  waitingPin,
  waitingReaction,
  waitingRead,
} from './store.ts'

type RecordOutcome = { line: number; kind: ImportKind; outcome: rules.ImportOutcome }
type ImportBatch = { appId: string; runId: string; parsed: ParsedRecord[] }

/**
 * Imports the records of a batch, in one transaction and in a number of statements that does not
 * depend on its size. Users, channels and members are stored at once. The rest waits in
 * `imported_rows` until the whole file was read, since its order is not known before.
 */
export async function applyBatch(
  db: Tx,
  { appId, runId, parsed }: ImportBatch,
): Promise<RecordOutcome[]> {
  const of = <K extends ImportKind>(kind: K) => {
    const ofKind = parsed.filter(({ record }) => record.record === kind)
    return ofKind as unknown as ParsedRecord<K>[] // as filtered
  }
  const outcomes: RecordOutcome[] = []
  /** Those of these records that are new. */
  const accept = <K extends ImportKind>(
    records: ParsedRecord<K>[],
    outcomeOf: (one: ParsedRecord<K>) => rules.ImportOutcome,
  ) =>
    records.filter((one) => {
      const outcome = outcomeOf(one)
      outcomes.push({ line: one.line, kind: one.record.record, outcome })
      return outcome === 'imported'
    })
  const newUsers = await insertUsers(db, appId, of('user'))
  const facts = await readImportFacts(db, { appId, parsed })
  accept(of('user'), rules.checkUser(facts, newUsers))
  const channels = accept(of('channel'), rules.checkChannel(facts))
  const newChannels = channels.map((one) => ({ ...one, id: facts.channelId(one.record.id) }))
  await insertChannels(db, appId, newChannels)
  const readChannels = of('channel').map(({ record, line }) => ({
    id: facts.channelId(record.id),
    line,
  }))
  const hidden = readChannels.filter(({ id }) => facts.channels.get(id)?.state === 'importing')
  await noteChannels(db, { appId, runId }, hidden)
  const members = accept(of('member'), rules.checkMember(facts))
  const newMembers = members.map((one) => ({
    ...one,
    channelId: facts.channelId(one.record.channelId),
  }))
  await insertMembers(db, appId, { channels: newChannels, members: newMembers })
  const messages = accept(of('message'), rules.checkMessage(facts))
  const reactions = accept(of('reaction'), rules.checkReaction(facts))
  const pins = accept(of('pin'), rules.checkPin(facts))
  const positions = accept(of('read'), rules.checkRead(facts))
  const stored = await insertWaiting(db, appId, [
    ...messages.map((one) => waitingMessage(facts, one)),
    ...reactions.map((one) => waitingReaction(facts, one)),
    ...pins.map((one) => waitingPin(facts, one)),
    ...positions.map((one) => waitingRead(facts, one)),
  ])
  return outcomes.map((one) => (isRepeat(one, stored) ? { ...one, outcome: 'skipped' } : one))
}

const WAITING: ReadonlySet<ImportKind> = new Set(['message', 'reaction', 'pin', 'read'])
const isRepeat = ({ kind, line, outcome }: RecordOutcome, stored: ReadonlySet<number>) =>
  outcome === 'imported' && WAITING.has(kind) && !stored.has(line)

/** Everything that the outcomes depend on, with the ids that records get here. */
async function readImportFacts(
  db: Tx,
  { appId, parsed }: Omit<ImportBatch, 'runId'>,
): Promise<rules.Facts> {
  const channelId = (id: string) => idOf(appId, 'channel', id)
  const messageId = (id: string) => idOf(appId, 'message', id)
  const refs = parsed.map(({ record }) => refsOf(record))
  const all = (pick: (ref: Refs) => (string | undefined)[]) => [
    ...new Set(refs.flatMap(pick).flatMap((id) => id ?? [])),
  ]
  const users = await selectUserFacts(
    db,
    appId,
    all((ref) => ref.users),
  )
  const messages = await selectMessageFacts(db, appId, all((ref) => ref.messages).map(messageId))
  const channelIds = new Set(all((ref) => ref.channels).map(channelId))
  for (const message of messages.values()) channelIds.add(message.channelId)
  const channels = await selectChannelFacts(db, appId, [...channelIds])
  const memberRefs = parsed.flatMap(({ record }) =>
    record.record === 'member' || record.record === 'read'
      ? [{ channelId: channelId(record.channelId), userId: record.userId }]
      : [],
  )
  const pairs = parsed.flatMap(({ record }) =>
    record.record === 'channel' ? (pairOf(record) ?? []) : [],
  )
  return {
    channelId,
    messageId,
    users,
    channels,
    messages,
    members: await selectMemberFacts(db, appId, memberRefs),
    takenPairs: await selectTakenPairs(db, appId, pairs),
    stored: await selectStoredOf(db, appId, { parsed, messageId }),
  }
}

function selectStoredOf(
  db: Tx,
  appId: string,
  { parsed, messageId }: { parsed: ParsedRecord[]; messageId: (id: string) => string },
) {
  const reactions = parsed.flatMap(({ record }) =>
    record.record === 'reaction' ? [{ ...record, messageId: messageId(record.messageId) }] : [],
  )
  const pins = parsed.flatMap(({ record }) =>
    record.record === 'pin' ? [messageId(record.messageId)] : [],
  )
  if (reactions.length + pins.length === 0) return new Set<string>()
  return selectStored(db, appId, { reactions, pins })
}

type Refs = Record<'users' | 'channels' | 'messages', (string | undefined)[]>

/** The ids that a record names. */
function refsOf(record: ParsedRecord['record']): Refs {
  const none: Refs = { users: [], channels: [], messages: [] }
  switch (record.record) {
    case 'user':
      return { ...none, users: [record.id] }
    case 'channel':
      return {
        ...none,
        channels: [record.id],
        users: [record.createdBy, ...(record.memberIds ?? [])],
      }
    case 'member':
      return { ...none, channels: [record.channelId], users: [record.userId] }
    case 'message':
      return {
        channels: [record.channelId],
        users: [record.userId],
        messages: [record.id, record.parentId, record.quotedMessageId],
      }
    case 'reaction':
    case 'pin':
      return { ...none, users: [record.userId], messages: [record.messageId] }
    case 'read':
      return { channels: [record.channelId], users: [record.userId], messages: [record.messageId] }
  }
}
