import { contract, type Message } from '@parley/contract'
import { ApiError } from '../../core/errors.ts'
import {
  CONTENDED,
  implementBatch,
  type Outcome,
  RequiresFirstError,
} from '../../core/operation.ts'
import type { Tx } from '../../db/client.ts'
import { channelForReader, isOpen } from '../access.ts'
import { joinOpenChannel } from '../members/index.ts'
import { type Append, createAppender } from './append.ts'
import { readFacts, type SendCommand, type SendFacts } from './send-facts.ts'
import { selectMessages, toMessage } from './view.ts'

/**
 * Messages of different channels share a commit as well: an app has this many transactions of sends
 * at a time. Of more each would be smaller, and cost as much.
 */
const GROUPS = 2
/** About what a message takes beside its content. */
const MESSAGE_BYTES = 500

/** Most messages have neither attachments nor metadata. */
const jsonLength = (value: object) =>
  Object.keys(value).length === 0 ? 0 : JSON.stringify(value).length

type SendOutcome = Outcome<typeof contract.messages.send>

/**
 * Appends messages in four statements, whatever the number of messages and members: lock, read,
 * store the messages, store their events. The rights, the parent and an earlier copy are read after
 * the lock, so that a user who was removed cannot write any more.
 */
export const send = implementBatch(contract.messages.send, {
  keysOf: ({ caller: { appId }, input: { channelId } }) => ({
    group: `${appId}:${Number.parseInt(channelId.slice(-2), 16) % GROUPS}`,
    resource: `${appId}:${channelId}`,
  }),
  bytesOf: ({ input: { text, attachments, custom } }) =>
    text.length + jsonLength(attachments) + jsonLength(custom ?? {}) + MESSAGE_BYTES,
  run: async (ctx, commands, { mayWait }) => {
    const facts = await readFacts(ctx.db, commands, { mayWait })
    const earlier = await selectEarlier(ctx.db, facts)
    const { append, write } = createAppender(ctx)
    const outcomes = facts.map((each) =>
      each.isContended ? CONTENDED : decide(each, { earlier, append }),
    )
    write()
    return outcomes
  },
  findRepeated: async (ctx, { channelId, clientId }) => {
    if (clientId === undefined) return undefined
    const { db, caller } = ctx
    const which = db`
      where msg.app_id = ${caller.appId}
        and msg.channel_id = ${channelId}
        and msg.user_id = ${caller.userId}
        and msg.client_id = ${clientId}`
    const [view] = await selectMessages(db, { viewer: caller.userId, which })
    if (!view) return undefined
    await channelForReader(ctx, channelId)
    return toMessage(view)
  },
})

function decide(
  facts: SendFacts,
  { earlier, append }: { earlier: Map<string, Message>; append: Append },
): SendOutcome {
  const { command, channel, role, earlierId } = facts
  if (facts.isAuthorDeleted) return refuse('INVALID_TOKEN', 'The token has been revoked')
  if (!channel) return refuse('NOT_FOUND', 'Channel not found')
  if (role === null && !isOpen(channel.type)) {
    return refuse('FORBIDDEN', 'You are not a member of this channel')
  }
  const repeated = earlierId === null ? undefined : earlier.get(earlierId)
  if (repeated) return { result: repeated, isRepeat: true }
  if (command.input.parentId !== undefined && facts.rootId === null) {
    return refuse('NOT_FOUND', 'Parent message not found')
  }
  return role === null ? { error: joinFirst(command) } : append(facts, channel)
}

const refuse = (code: 'NOT_FOUND' | 'FORBIDDEN' | 'INVALID_TOKEN', message: string) => ({
  error: new ApiError(code, message),
})

/** The first message in an open channel makes its author a member. */
const joinFirst = ({ caller, input }: SendCommand) =>
  new RequiresFirstError(({ inTransaction }) =>
    inTransaction((ctx) => joinOpenChannel({ ...ctx, caller }, input)),
  )

/** The messages that commands repeat, by id. Usually there are none, and no query is sent. */
async function selectEarlier(db: Tx, facts: SendFacts[]) {
  const ids = facts.flatMap(({ earlierId }) => earlierId ?? [])
  if (ids.length === 0) return new Map<string, Message>()
  const views = await selectMessages(db, {
    viewer: db`msg.user_id`,
    which: db`where msg.id = any(${ids}::uuid[])`,
  })
  return new Map(views.map((view) => [view.id, toMessage(view)]))
}
