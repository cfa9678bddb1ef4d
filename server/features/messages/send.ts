import { contract, type Message } from '@parley/contract'
import { ApiError } from '../../core/errors.ts'
import { CONTENDED, implementBatch, RequiresFirstError } from '../../core/operation.ts'
import { channelFrozen, channelNotFound, notMember, tokenRevoked } from '../../core/refusals.ts'
import type { Tx } from '../../db/client.ts'
import { channelForReader, isOpen } from '../channels/access.ts'
import { joinOpenChannel } from '../members/index.ts'
import { insertSystemUser } from '../system-user.ts'
import { type AppendMessage, createAppender, type SendOutcome } from './append.ts'
import { screen } from './before-send.ts'
import { findRepeated } from './repeated.ts'
import { readSendFacts, type SendCommand, type SendFacts } from './send-facts.ts'
import { selectMessages } from './view.ts'

/** While one transaction commits, the messages of another can be read and written. */
const BATCHES_AT_ONCE = 2
/** The bytes of a message apart from its text and attachments. */
const MESSAGE_BYTES = 500

/** Most messages have neither attachments nor metadata. */
const jsonLength = (value: object) =>
  Object.keys(value).length === 0 ? 0 : JSON.stringify(value).length

/**
 * Appends messages in four statements, whatever the number of messages and members: lock, read,
 * store the messages, store their events. With `begin` and `commit` they are two round trips. A
 * fifth reads the earlier messages if a command repeats one. The rights and the parent are read
 * after the lock, so that a user who was removed cannot write any more. `append` emits
 * `message.new`; `core/context.ts` stores it before the commit, and then publishes it to the event
 * bus.
 */
export const send = implementBatch(contract.messages.send, {
  keysOf: ({ caller: { appId }, input: { channelId } }) => ({
    group: appId,
    resource: `${appId}:${channelId}`,
  }),
  bytesOf: ({ input: { text, attachments, custom } }) =>
    text.length + jsonLength(attachments) + jsonLength(custom ?? {}) + MESSAGE_BYTES,
  batchesAtOnce: BATCHES_AT_ONCE,
  run: async (ctx, commands, { waitsForLocks }) => {
    const facts = await readSendFacts(ctx.db, commands, { waitsForLocks })
    const earlier = await selectEarlier(ctx.db, facts)
    const { append, queueInserts } = createAppender(ctx)
    const factsOf = new Map(facts.map((each) => [each.command, each]))
    const outcomes = commands.map((command) => {
      const each = factsOf.get(command)
      if (!each) return { error: systemUserFirst(command) }
      return each.isLockedByOthers ? CONTENDED : decide(each, { earlier, append })
    })
    queueInserts()
    return outcomes
  },
  findRepeated,
  prepare: screen,
})

function decide(
  facts: SendFacts,
  { earlier, append }: { earlier: Map<string, Message>; append: AppendMessage },
): SendOutcome {
  const { command, channel, role, earlierId } = facts
  const isBackend = command.caller.userId === null
  if (facts.isAuthorDeleted && !isBackend) {
    return { error: tokenRevoked() }
  }
  if (!channel) return { error: channelNotFound() }
  const wrongType = isBackend ? 'regular' : 'system'
  if (command.input.type === wrongType) {
    return refusedOutcome('FORBIDDEN', `type: expected something other than "${wrongType}"`)
  }
  if (isBackend && command.input.streaming) {
    return refusedOutcome('FORBIDDEN', 'System messages cannot be streamed')
  }
  if (role === null && !isBackend && !isOpen(channel.type)) {
    return { error: notMember() }
  }
  const repeated = earlierId === null ? undefined : earlier.get(earlierId)
  if (repeated) return { result: repeated, isRepeat: true }
  if (command.input.parentId !== undefined && facts.rootId === null) {
    return refusedOutcome('NOT_FOUND', 'Parent message not found')
  }
  if (command.input.quotedMessageId !== undefined && facts.quoted === null) {
    return refusedOutcome('NOT_FOUND', 'Quoted message not found')
  }
  if (isBackend) return append(facts, channel)
  if (channel.frozen) return { error: channelFrozen() }
  return role === null ? { error: joinFirst(command) } : append(facts, channel)
}

const refusedOutcome = (code: 'NOT_FOUND' | 'FORBIDDEN', message: string) => ({
  error: new ApiError(code, message),
})

/** The first message in an open channel makes its author a member. */
const joinFirst = ({ caller, input }: SendCommand) =>
  new RequiresFirstError(async ({ inTransaction }) => {
    const { userId } = caller
    if (userId === null) return
    await inTransaction((ctx) => joinOpenChannel({ ...ctx, caller: { ...caller, userId } }, input))
  })

/** The first system message of an app needs an author, if there is a channel for it. */
const systemUserFirst = ({ caller, input }: SendCommand) =>
  new RequiresFirstError(({ inTransaction }) =>
    inTransaction(async ({ db }) => {
      await channelForReader({ db, caller }, input.channelId)
      await insertSystemUser(db, caller.appId)
    }),
  )

/** The messages that commands repeat, by id. Usually there are none, and no query is sent. */
async function selectEarlier(db: Tx, facts: SendFacts[]) {
  const ids = facts.flatMap(({ earlierId }) => earlierId ?? [])
  if (ids.length === 0) return new Map<string, Message>()
  const messages = await selectMessages(db, {
    viewer: db`msg.user_id`,
    which: db`where msg.id = any(${ids}::uuid[])`,
  })
  return new Map(messages.map((message) => [message.id, message]))
}
