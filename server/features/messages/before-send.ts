import { isDeepStrictEqual } from 'node:util'
import type { BeforeSendQuestion, contract, Input, Message } from '@parley/contract'
import type { BeforeSendHook } from '../../core/before-send.ts'
import type { ConnectionlessContext, UserCaller } from '../../core/context.ts'
import { HookRefusalError } from '../../core/errors.ts'
import { streamIsScreened } from '../../core/refusals.ts'
import type { Tx } from '../../db/client.ts'
import { pipelined } from '../../db/pipelined.ts'
import type { MessageRow } from '../../db/rows.ts'
import { channelForReader } from '../channels/access.ts'
import { messageForAuthor } from './access.ts'
import { contentAfter } from './content-after.ts'
import { findRepeated, type Send } from './repeated.ts'

/** `screened`: the stored content when the hook was asked. An edit of any other is not stored. */
export type Edit = Input<typeof contract.messages.edit> & { screened?: Content }
type Content = Pick<MessageRow, 'text' | 'custom'>
type Prepared = { input: Send } | { repeated: Message }

/**
 * Lets the app's hook screen a message before anything is locked, if its author may send it and it
 * is no repeat. A backend's own messages are not screened.
 */
export async function screen(
  { caller, services, read }: ConnectionlessContext<'userOrKey'>,
  input: Send,
): Promise<Prepared> {
  if (caller.userId === null || !caller.isScreened) return { input }
  const { hook, repeated } = await read((db) => readHookFacts(db, caller, input))
  if (repeated) return { repeated }
  if (!hook) return { input }
  if (input.streaming) {
    throw streamIsScreened()
  }
  const { type: _, ...message } = input
  const changes = await ask(services, hook, questionOf(caller, hook, message))
  return { input: { ...input, ...changes } }
}

/**
 * Lets the hook screen the message as it would be after an edit: otherwise something harmless could
 * be sent first and edited into what the hook refuses. An edit that changes nothing is not
 * screened. If two concurrent edits are screened, each with the other's old half, only one is
 * stored.
 */
export async function screenEdit(
  { caller, services, read }: ConnectionlessContext<'user'>,
  input: Edit,
): Promise<{ input: Edit }> {
  if (!caller.isScreened) return { input }
  const [message, hook] = await read((db) =>
    pipelined([messageForAuthor({ db, caller, services }, input), selectHook(db, caller)]),
  )
  const { text, custom } = contentAfter(message, input)
  const isSame = text === message.text && isDeepStrictEqual(custom, message.custom)
  if (!hook) return { input }
  const screened = { text: message.text, custom: message.custom }
  if (isSame) return { input: { ...input, screened } }
  const { channelId, messageId } = input
  const { silent, parentId, quotedId } = message
  const question = questionOf(caller, hook, {
    channelId,
    messageId,
    text,
    attachments: message.attachments as Message['attachments'], // as they were stored
    ...(parentId && { parentId }),
    ...(quotedId && { quotedMessageId: quotedId }),
    ...(custom && { custom }),
    ...(silent && { silent }),
  })
  const changes = await ask(services, hook, question)
  return {
    input: {
      ...input,
      screened,
      // A text that the hook only repeats is no new one, which would end a stream.
      ...(changes.text !== undefined && changes.text !== text && { text: changes.text }),
      ...(changes.custom && { custom: inPlaceOf(message.custom, changes.custom) }),
    },
  }
}

/** Whether a message, now locked, is still the one whose edit was screened. */
export const isAsScreened = (message: Content, screened: Content | undefined) =>
  screened === undefined ||
  (message.text === screened.text && isDeepStrictEqual(message.custom, screened.custom))

/** Reads the hook and any repeated message. Refuses authors who may not read the channel. */
async function readHookFacts(db: Tx, caller: UserCaller, input: Send) {
  const repeated = await findRepeated({ db, caller }, input)
  if (repeated) return { repeated }
  await channelForReader({ db, caller }, input.channelId)
  return { hook: await selectHook(db, caller) }
}

/** `readAt`: by the clock of the database, since that of this machine may be wrong. */
type StoredHook = BeforeSendHook & { readAt: string }

async function selectHook(db: Tx, caller: UserCaller) {
  const [hook] = await db<StoredHook[]>`
    select
      clock_timestamp() as read_at,
      bsh.url, bsh.on_error, bsh.timeout_ms,
      array_remove(
        array[
          bsh.secret,
          case when bsh.previous_secret_expires_at > now() then bsh.previous_secret end
        ],
        null
      ) as secrets
    from before_send_hooks bsh
    where bsh.app_id = ${caller.appId}`
  return hook
}

/** Asks the hook. Returns what it changes; throws if it refuses the message. */
async function ask(
  { askBeforeSend }: ConnectionlessContext<'user'>['services'],
  hook: BeforeSendHook,
  question: BeforeSendQuestion,
) {
  const answer = await askBeforeSend(hook, question)
  if (answer.action === 'refuse') throw new HookRefusalError(answer.reason)
  if (answer.action === 'allow') return {}
  const { action: _, ...changes } = answer
  return changes
}

const questionOf = (
  { appId, userId }: UserCaller,
  { readAt }: StoredHook,
  message: Omit<BeforeSendQuestion['data'], 'userId'>,
): BeforeSendQuestion => ({
  type: 'message.before_send',
  timestamp: readAt,
  appId,
  data: { userId, ...message },
})

/** A change of metadata that leaves nothing of what is there. */
const inPlaceOf = (before: object | null, custom: object) => ({
  ...Object.fromEntries(Object.keys(before ?? {}).map((key) => [key, null])),
  ...custom,
})
