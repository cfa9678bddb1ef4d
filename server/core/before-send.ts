import type { IncomingMessage } from 'node:http'
import {
  BeforeSendAnswer,
  type BeforeSendQuestion,
  limits,
  type OnHookError,
} from '@parley/contract'
import { v7 as uuidv7 } from 'uuid'
import { AdmissionError } from './admission.ts'
import { type GuardedRequest, readUpTo, UnfetchableError } from './guarded-request.ts'
import { createLru } from './lru.ts'
import type { Metrics } from './metrics.ts'
import { createPlaces } from './places.ts'
import { signedHeaders } from './signed-request.ts'
import { hasUnsafeKeys, UNSAFE_KEYS } from './unsafe-keys.ts'
import { userKey } from './user-ref.ts'
import { withTimeout } from './with-timeout.ts'

/** The endpoint of an app that screens its messages. */
export type BeforeSendHook = {
  url: string
  onError: OnHookError
  timeoutMs: number
  /** The newest first. The one before the last rotation signs too, for a while. */
  secrets: string[]
}
/**
 * Asks an endpoint once; without a valid answer, its `onError` decides. Throws an AdmissionError,
 * and asks nothing, if too many answers are waited for.
 */
export type AskBeforeSend = (
  hook: BeforeSendHook,
  question: BeforeSendQuestion,
) => Promise<BeforeSendAnswer>

type AskOptions = {
  request: GuardedRequest
  metrics: Pick<Metrics, 'beforeSend' | 'callsRefused'>
  log: { warn: (facts: object, message: string) => void }
}

/** The endpoint did not answer, or not as it should. */
class HookError extends Error {
  override readonly name = 'HookError'
}
/** How many apps are remembered whose hook failed last. */
const FAILING_APPS = 10_000

export function createAskBeforeSend({ request, metrics, log }: AskOptions): AskBeforeSend {
  const { atOnce, atOnceOfUser } = limits.beforeSend
  const apps = createPlaces(atOnce)
  const users = createPlaces(atOnceOfUser)
  const failing = createLru<true>({ entries: FAILING_APPS })

  /**
   * So that the messages of an app with a slow hook do not fill the memory of the server, and those
   * of a user leave room for others. While the hook answers, `onError` decides none of what comes
   * beyond: anybody could make a flood of their own, and have the rest stored unscreened, or that
   * of others refused.
   */
  const requirePlace = (appId: string, user: string) => {
    const hasRoom = apps.hasRoom(appId)
    if (users.hasRoom(user) && (hasRoom || failing.has(appId))) return hasRoom
    metrics.callsRefused.inc({ reason: 'hook' })
    throw new AdmissionError('Too many messages are being screened; try again later')
  }

  return async (hook, question) => {
    const { appId, data } = question
    const user = userKey({ appId, userId: data.userId })
    const hasPlace = requirePlace(appId, user)
    try {
      if (!hasPlace) throw new HookError('too many concurrent calls to the hook')
      const asked = () => users.use(user, () => post(request, hook, question))
      const answer = await apps.use(appId, asked)
      failing.delete(appId)
      metrics.beforeSend.inc({ outcome: answer.action })
      return answer
    } catch (error) {
      const problem = problemOf(error, hook)
      metrics.beforeSend.inc({ outcome: 'error' })
      if (!failing.has(appId)) log.warn({ app: appId, error: problem }, 'before-send hook failing')
      failing.set(appId, true)
      return hook.onError === 'allow'
        ? { action: 'allow' }
        : { action: 'refuse', reason: 'The message could not be checked' }
    }
  }
}

async function post(
  request: GuardedRequest,
  { url, secrets, timeoutMs }: BeforeSendHook,
  question: BeforeSendQuestion,
) {
  const body = JSON.stringify(question)
  const headers = signedHeaders({ id: uuidv7(), body, secrets, at: question.timestamp })
  return withTimeout(timeoutMs, undefined, async (signal) => {
    const response = await request(new URL(url), { method: 'POST', headers, body, signal })
    const { statusCode = 0 } = response
    if (statusCode < 200 || statusCode > 299) {
      response.destroy()
      throw new HookError(`answered ${statusCode}`)
    }
    const { data } = BeforeSendAnswer.safeParse(parsed(await textOf(response)))
    if (!data) throw new HookError('the answer is not one of the documented ones')
    if (empties(question.data, data))
      throw new HookError('the answer leaves neither text nor attachments')
    return data
  })
}

/** An edit keeps its attachments, and a message that had neither may go without. */
function empties(message: BeforeSendQuestion['data'], answer: BeforeSendAnswer) {
  if (answer.action !== 'change') return false
  const isEdit = message.messageId !== undefined
  const { text = message.text } = answer
  const attachments = (isEdit ? undefined : answer.attachments) ?? message.attachments
  if (isEdit && text === message.text) return false
  return text === '' && attachments.length === 0
}

async function textOf(response: IncomingMessage) {
  const body = await readUpTo(response, limits.bodyBytes + 1)
  if (body.length > limits.bodyBytes) throw new HookError(`answered over ${limits.bodyBytes} bytes`)
  return body.toString()
}

function parsed(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new HookError('the answer is not JSON')
  }
  if (hasUnsafeKeys(text, value)) throw new HookError(`the answer has one of ${UNSAFE_KEYS}`)
  return value
}

/** Network and protocol errors carry a code; any other error is a bug here. */
function problemOf(error: unknown, { timeoutMs }: BeforeSendHook) {
  if (error instanceof HookError || error instanceof UnfetchableError) return error.message
  if (!(error instanceof Error)) throw error
  if (error.name === 'AbortError') return `no answer within ${timeoutMs} ms`
  if ('code' in error) return String(error.code)
  throw error
}
