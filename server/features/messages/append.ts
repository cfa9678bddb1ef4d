import type { contract, Message } from '@parley/contract'
import { v7 as uuidv7 } from 'uuid'
import { causeOf, type WriteContext } from '../../core/context.ts'
import type { LockedCounters } from '../../core/event-buffer.ts'
import type { CommandOutcome } from '../../core/operation.ts'
import { mergeCustom, withCustom } from '../custom.ts'
import { SYSTEM_USER } from '../system-user.ts'
import { createBatchCounters } from './batch-counters.ts'
import { insertMessages, type NewMessage } from './insert.ts'
import { linksIn } from './links.ts'
import { mentionsIn } from './mentions.ts'
import type { SendFacts } from './send-facts.ts'

export type SendOutcome = CommandOutcome<typeof contract.messages.send>
export type AppendMessage = (facts: SendFacts, channel: LockedCounters) => SendOutcome

type AppendContext = Pick<
  WriteContext,
  'db' | 'emit' | 'nextSeq' | 'enqueue' | 'queueWrite' | 'services'
>

/**
 * Collects the messages of a batch: `append` accepts one and emits its event; `queueInserts` queues
 * the statement that stores all of them, their threads' counts and their authors' markers.
 */
export function createAppender(ctx: AppendContext) {
  const messages: NewMessage[] = []
  const { threads, markers, ...counters } = createBatchCounters()
  const sentByKey = new Map<string, Message>()

  const append: AppendMessage = (facts, channel) => {
    const { author, command } = facts
    const { clientId } = command.input
    const key = `${channel.id} ${author.id} ${clientId}`
    const repeated = clientId === undefined ? undefined : sentByKey.get(key)
    if (repeated) return { result: repeated, isRepeat: true }

    const message = emitMessage(facts, channel)
    if (!message.streaming) enqueueJobs(message, command)
    if (clientId !== undefined) sentByKey.set(key, message)
    const authorSeq = counters.nextOfAuthor(facts, message)
    messages.push({ ...message, appId: command.caller.appId, authorSeq })
    const { appId, userId } = command.caller
    if (userId !== null) ctx.services.lastActive.touch({ appId, userId })
    return { result: message }
  }

  const enqueueJobs = (message: Message, { caller: { trace }, input }: SendFacts['command']) => {
    const { id: messageId, text } = message
    if (isPushed(message, input.silent)) ctx.enqueue('push-message', { messageId }, trace)
    if (linksIn(text).length > 0) ctx.enqueue('preview', { messageId }, trace)
  }

  const emitMessage = (facts: SendFacts, channel: LockedCounters) => {
    const id = uuidv7()
    const seq = ctx.nextSeq(channel, facts.now)
    const parent = counters.nextInThread(facts)
    const authorLastReadSeq = counters.moveMarker(facts, { channelId: channel.id, seq })
    const payloadAt = (rev: number) => ({
      channelId: channel.id,
      message: newMessage(facts, { id, channelId: channel.id, seq, rev }),
      authorLastReadSeq,
      ...(parent ? { parent } : {}),
      ...causeOf(facts.command.caller),
    })
    const { message } = ctx.emit(channel, 'message.new', payloadAt, id)
    if (parent) threads.set(parent.id, { ...parent, rev: message.rev })
    return message
  }

  const queueInserts = () => {
    if (messages.length === 0) return
    ctx.queueWrite(
      insertMessages(ctx.db, {
        messages,
        threads: [...threads.values()],
        markers: [...markers.values()],
      }),
    )
  }
  return { append, queueInserts }
}

type MessageIdentity = Pick<Message, 'id' | 'channelId' | 'seq' | 'rev'>

/** System messages are pushed only if that was asked for. */
const isPushed = ({ type }: Message, silent: boolean | undefined) =>
  type === 'system' ? silent === false : !silent

const newMessage = (
  { author, command, rootId, quoted, now }: SendFacts,
  { id, channelId, seq, rev }: MessageIdentity,
): Message => ({
  id,
  channelId,
  type: command.caller.userId === null ? 'system' : 'regular',
  userId: author.id,
  text: command.input.text,
  seq,
  rev,
  user: command.caller.userId === null ? SYSTEM_USER : author,
  reactions: [],
  mentions: command.input.streaming ? [] : mentionsIn(command.input.text),
  attachments: command.input.attachments,
  ...withCustom(mergeCustom(null, command.input.custom)),
  ...((command.caller.userId === null || command.input.silent) && { silent: true }),
  ...(command.input.streaming && { streaming: true }),
  parentId: rootId,
  ...(quoted && { quotedMessage: quoted }),
  replyCount: 0,
  pinned: false,
  clientId: command.input.clientId ?? null,
  createdAt: now,
  updatedAt: now,
  editedAt: null,
  deletedAt: null,
})
