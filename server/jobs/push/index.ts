import { defaultPreferences } from '@parley/contract'
import type { Log } from '../../core/log.ts'
import type { Metrics } from '../../core/metrics.ts'
import type { Db } from '../../db/client.ts'
import type { HandlerContext, Handlers } from '../tasks.ts'
import { resumeEarlier } from './earlier.ts'
import { excerptOf, type PushEvent, type PushTask } from './events.ts'
import { limitKept } from './limit-kept.ts'
import { inviteEvent, messageEvent, reactionEvent } from './payloads.ts'
import { createProvider } from './provider.ts'
import type { ProviderTimings } from './provider-call.ts'
import {
  type MessageRecipient,
  type MessageRecipients,
  selectInviteRecipients,
  selectMessageRecipients,
  selectReactionRecipients,
} from './recipients.ts'
import { isWanted, kindFor } from './rules.ts'
import { type Remaking, sendAll } from './send.ts'
import type { PushSettings } from './settings.ts'
import { createSubscribers } from './subscribers.ts'

type PushContext = Pick<HandlerContext<PushTask>, 'signal' | 'giveUp'>
type PushesOptions = {
  db: Db
  push: PushSettings | undefined
  timings: ProviderTimings
  metrics: Metrics
  log: Log
}

/**
 * Creates the handlers that send pushes. Without a provider there are none; other processes may
 * have one.
 */
export function createPushes({
  db,
  push,
  timings,
  metrics,
  log,
}: PushesOptions): Partial<Omit<Handlers, 'preview'>> {
  if (!push) return {}
  const provider = createProvider(push, timings)
  const mayKeep = limitKept()
  const send = <T extends PushTask>(
    remaking: Remaking<T>,
    events: PushEvent<T>[],
    { signal, giveUp }: PushContext,
  ) =>
    sendAll(provider, events, {
      ...remaking,
      signal,
      metrics,
      log,
      keepRefused: async (jobs, reason) => {
        const kept = new Set([...new Set(jobs.map(({ appId }) => appId))].filter(mayKeep))
        const [first, ...others] = jobs.filter(({ appId }) => kept.has(appId))
        if (first) await giveUp(remaking.task, [first, ...others], reason)
      },
    })
  const tasks: Pick<Handlers, PushTask> = {
    'push-message': async (jobs, context) => {
      const messages = await selectMessageRecipients(db, jobs)
      context.continueWith(messages.flatMap(nextPageOf))
      const events = messages.flatMap((message) => messageEvents(push, message, context.takenAt))
      await send(messagesAgain, events, context)
    },
    'push-reaction': async (jobs, context) => {
      const authors = await selectReactionRecipients(db, jobs)
      const wanted = authors.filter((author) =>
        isWanted('reaction', preferencesOf(author), context.takenAt),
      )
      const events = wanted.map((author) => reactionEvent(push, author))
      await send(reactionsAgain, events, context)
    },
    'push-invite': async (jobs, context) => {
      const pages = await Promise.all(jobs.map((job) => selectInviteRecipients(db, job)))
      const wanted = pages
        .flat()
        .filter((user) => isWanted('channel-invite', preferencesOf(user), context.takenAt))
      const events = wanted.map((user) => inviteEvent(push, user))
      await send(invitesAgain, events, context)
    },
  }
  return {
    ...tasks,
    'push-event': resumeEarlier(tasks, push),
    ...createSubscribers({ db, provider, metrics, log }),
  }
}

const messagesAgain: Remaking<'push-message'> = {
  task: 'push-message',
  only: (job, userIds) => ({ ...job, userIds }),
}
/** A reaction has one recipient, the author of the message. */
const reactionsAgain: Remaking<'push-reaction'> = { task: 'push-reaction', only: (job) => job }
const invitesAgain: Remaking<'push-invite'> = {
  task: 'push-invite',
  only: (job, userIds) => ({ ...job, userIds }),
}

const preferencesOf = ({ chosen }: Pick<MessageRecipient, 'chosen'>) => ({
  ...defaultPreferences,
  ...chosen,
})

const nextPageOf = ({ appId, messageId, lastId }: MessageRecipients) =>
  lastId === null ? [] : [{ appId, messageId, after: lastId }]

const messageEvents = (push: PushSettings, message: MessageRecipients, now: Date) => {
  const excerpt = excerptOf(message.text)
  const job = { appId: message.appId, messageId: message.messageId }
  return message.recipients.flatMap((recipient) => {
    const kind = kindFor(recipient, preferencesOf(recipient), now)
    if (!kind) return []
    return messageEvent(push, kind, { ...message, job, excerpt, userId: recipient.userId })
  })
}
