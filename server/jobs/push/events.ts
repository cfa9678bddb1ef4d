import type { Task } from '../../core/jobs.ts'
import type { QueuedJob } from '../tasks.ts'
import type { PushKind, PushPayloads, PushSettings } from './settings.ts'

/** The tasks that make pushes. */
export type PushTask = Extract<Task, `push-${string}`>

/** One push to one user of an app. The provider delivers each `transactionId` once. */
export type PushEvent<T extends PushTask = PushTask> = {
  /** The job that made it: the same object for all pushes of a message or an invite. */
  job: QueuedJob<T>
  userId: string
  name: string
  to: string
  payload: Record<string, string>
  transactionId: string
}

/** The id that a user has at the provider. */
export const subscriberId = ({ tenantId }: Pick<PushSettings, 'tenantId'>, userId: string) =>
  tenantId === undefined ? userId : `${tenantId}:${userId}`

type Push<T extends PushTask, K extends PushKind> = {
  job: QueuedJob<T>
  subject: string
  userId: string
  payload: PushPayloads[K]
}

/**
 * `subject` names what happened. With the user and the workflow it makes the push's transaction id,
 * so a job that runs twice sends the same push.
 */
export function pushEvent<T extends PushTask, K extends PushKind>(
  settings: PushSettings,
  kind: K,
  { job, subject, userId, payload }: Push<T, K>,
): PushEvent<T> {
  const name = settings.workflows[kind]
  return {
    job,
    userId,
    name,
    to: subscriberId(settings, userId),
    payload,
    transactionId: `${subject}:${userId}:${name}`,
  }
}

const EXCERPT_GRAPHEMES = 100
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** The beginning of a text on one line. No visible character is cut in two. */
export function excerptOf(text: string) {
  const line = text.replace(/\s+/gu, ' ').trim()
  if (line.length <= EXCERPT_GRAPHEMES) return line
  let end = 0
  let count = 0
  for (const { index, segment } of graphemes.segment(line)) {
    if (count === EXCERPT_GRAPHEMES) break
    count += 1
    end = index + segment.length
  }
  return line.slice(0, end)
}
