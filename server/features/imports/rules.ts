import { memberKey } from '../../core/user-ref.ts'
import { dmKeyOf } from '../channels/create.ts'
import { type ChannelFact, type MessageFact, reactionKey } from './facts.ts'
import type { ParsedRecord } from './records.ts'

/** What becomes of a record: it is new, is there already, or is refused for this reason. */
export type ImportOutcome = 'imported' | 'skipped' | { reason: string }

/** The facts that outcomes depend on. Accepted records are added: later lines may name them. */
export type Facts = {
  channelId: (id: string) => string
  messageId: (id: string) => string
  /** False: deleted. */
  users: Map<string, boolean>
  channels: Map<string, ChannelFact>
  messages: Map<string, MessageFact>
  /** The seq up to which each member has read, by `memberKey`. */
  members: Map<string, number>
  takenPairs: Set<string>
  /** Reactions by `reactionKey`, and pins by the ids of their messages: stored or waiting. */
  stored: Set<string>
}

const refused = (reason: string): ImportOutcome => ({ reason })

export const checkUser = ({ users }: Facts, created: Set<string>) => {
  const isNew = new Set(created)
  return ({ record: { id } }: ParsedRecord<'user'>): ImportOutcome => {
    if (isNew.delete(id)) return 'imported'
    return users.get(id) === true ? 'skipped' : refused('id: the user was deleted')
  }
}

/** Also refused if the two began it while the import ran. */
export const TAKEN_PAIR = 'memberIds: the two have a direct message already'

export const checkChannel = (facts: Facts) => {
  const { channels, users, takenPairs } = facts
  return ({ record }: ParsedRecord<'channel'>): ImportOutcome => {
    const id = facts.channelId(record.id)
    const state = channels.get(id)?.state
    if (state === 'deleted') return refused('id: the channel was deleted')
    if (state !== undefined) return 'skipped'
    if (record.createdBy !== undefined && !users.get(record.createdBy))
      return refused('createdBy: unknown user')
    if (record.memberIds?.some((userId) => !users.get(userId)))
      return refused('memberIds: unknown user')
    const pair = record.memberIds && dmKeyOf(record.memberIds)
    if (pair !== undefined) {
      if (takenPairs.has(pair)) return refused(TAKEN_PAIR)
      takenPairs.add(pair)
      for (const userId of record.memberIds ?? [])
        facts.members.set(memberKey({ channelId: id, userId }), 0)
    }
    channels.set(id, { type: record.type, state: 'importing' })
    return 'imported'
  }
}

const FINISHED = 'channelId: the channel was imported before, and takes no more records'

/** The reason why a channel takes no records, if there is one. */
const channelProblem = (channel: ChannelFact | undefined) => {
  if (!channel) return 'channelId: unknown channel'
  if (channel.state === 'deleted') return 'channelId: the channel was deleted'
  return channel.state === 'active' ? FINISHED : undefined
}

export const checkMember =
  ({ channels, users, members, ...facts }: Facts) =>
  ({ record: { channelId, userId } }: ParsedRecord<'member'>): ImportOutcome => {
    const id = facts.channelId(channelId)
    const channel = channels.get(id)
    const memberRef = memberKey({ channelId: id, userId })
    if (channel && channel.state !== 'deleted' && members.has(memberRef)) return 'skipped'
    const problem = channelProblem(channel)
    if (problem !== undefined) return refused(problem)
    if (channel?.type === 'messaging') return refused('channelId: a direct message has two members')
    if (!users.get(userId)) return refused('userId: unknown user')
    members.set(memberRef, 0)
    return 'imported'
  }

export const checkMessage =
  ({ channels, users, messages, ...facts }: Facts) =>
  ({ record }: ParsedRecord<'message'>): ImportOutcome => {
    const id = facts.messageId(record.id)
    const channelId = facts.channelId(record.channelId)
    const existing = messages.get(id)
    if (existing?.channelId === channelId) return 'skipped'
    if (existing) return refused('id: a message of another channel has it')
    const problem = channelProblem(channels.get(channelId))
    if (problem !== undefined) return refused(problem)
    if (record.userId !== undefined && !users.get(record.userId))
      return refused('userId: unknown user')
    const parentKey = record.parentId === undefined ? undefined : facts.messageId(record.parentId)
    const parent = parentKey === undefined ? undefined : messages.get(parentKey)
    const createdMicros = microsOf(record.createdAt)
    if (parentKey !== undefined) {
      if (parent?.channelId !== channelId)
        return refused('parentId: unknown message of the channel')
      if (createdMicros < parent.createdMicros)
        return refused('createdAt: expected no time before that of the parent')
    }
    const parentId = parentKey === undefined ? null : (parent?.parentId ?? parentKey)
    messages.set(id, { channelId, parentId, createdMicros, seq: null })
    return 'imported'
  }

/** As exact as the database keeps it. */
function microsOf(time: string) {
  const [fraction = '0'] = /\.\d+/.exec(time) ?? []
  return Math.floor(Date.parse(time) / 1_000) * 1e6 + Math.round(Number(fraction) * 1e6)
}

/** The rules that reactions and pins share. */
const checkMark = (
  { channels, users, messages, stored, ...facts }: Facts,
  { messageId, userId, key }: { messageId: string; userId: string; key: string },
): ImportOutcome => {
  const message = messages.get(facts.messageId(messageId))
  if (!message) return refused('messageId: unknown message')
  if (stored.has(key)) return 'skipped'
  const problem = channelProblem(channels.get(message.channelId))
  if (problem !== undefined) return refused(problem.replace('channelId', 'messageId'))
  return users.get(userId) ? 'imported' : refused('userId: unknown user')
}

export const checkReaction =
  (facts: Facts) =>
  ({ record }: ParsedRecord<'reaction'>) => {
    const { messageId, userId } = record
    const key = reactionKey({ ...record, messageId: facts.messageId(messageId) })
    return checkMark(facts, { messageId, userId, key })
  }

export const checkPin =
  (facts: Facts) =>
  ({ record: { messageId, userId } }: ParsedRecord<'pin'>) =>
    checkMark(facts, { messageId, userId, key: facts.messageId(messageId) })

export const checkRead =
  ({ channels, messages, members, ...facts }: Facts) =>
  ({ record }: ParsedRecord<'read'>): ImportOutcome => {
    const channelId = facts.channelId(record.channelId)
    const message = messages.get(facts.messageId(record.messageId))
    const lastReadSeq = members.get(memberKey({ channelId, userId: record.userId }))
    if (message?.channelId !== channelId)
      return refused('messageId: unknown message of the channel')
    if (lastReadSeq === undefined) return refused('userId: not a member of the channel')
    if (message.seq !== null && lastReadSeq >= message.seq) return 'skipped'
    const problem = channelProblem(channels.get(channelId))
    return problem === undefined ? 'imported' : refused(problem)
  }
