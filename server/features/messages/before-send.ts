import type { contract, Input, Message } from '@parley/contract'
import type { BeforeSendHook } from '../../core/before-send.ts'
import { type ConnectionlessContext, hasKey, type UserCaller } from '../../core/context.ts'
import { ApiError } from '../../core/errors.ts'
import type { Tx } from '../../db/client.ts'
import { channelForReader } from '../access.ts'
import { findRepeated } from './repeated.ts'

type Send = Input<typeof contract.messages.send>
type Prepared = { input: Send } | { repeated: Message }

/**
 * Lets the app's hook judge a message, before anything is locked: the author may send it, and it is
 * no repeat. A backend's own messages are not judged.
 */
export async function judge(
  { caller, services, read }: ConnectionlessContext<'userOrKey'>,
  input: Send,
): Promise<Prepared> {
  if (caller.userId === null || hasKey(caller) || !caller.isScreened) return { input }
  const { hook, repeated } = await read((db) => readFacts(db, caller, input))
  if (repeated) return { repeated }
  if (!hook) return { input }
  // It could only judge the beginning of a text that grows.
  if (input.streaming) {
    throw new ApiError('FORBIDDEN', 'Only the backend may stream messages that a hook judges')
  }
  const answer = await services.askBeforeSend(hook, questionOf(caller, input))
  if (answer.action === 'refuse') throw new ApiError('FORBIDDEN', answer.reason)
  if (answer.action === 'allow') return { input }
  const { action: _, ...changes } = answer
  return { input: { ...input, ...changes } }
}

/** What the judgement depends on. Refuses authors who may not read the channel. */
async function readFacts(db: Tx, caller: UserCaller, input: Send) {
  const repeated = await findRepeated({ db, caller }, input)
  if (repeated) return { repeated }
  await channelForReader({ db, caller }, input.channelId)
  const [hook] = await db<BeforeSendHook[]>`
    select bsh.url, bsh.on_error, bsh.timeout_ms, bsh.secret
    from before_send_hooks bsh
    where bsh.app_id = ${caller.appId}`
  return { hook }
}

const questionOf = ({ appId, userId }: UserCaller, { type: _, ...message }: Send) => ({
  type: 'message.before_send' as const,
  timestamp: new Date().toISOString(),
  appId,
  data: { userId, ...message },
})
