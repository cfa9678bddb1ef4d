import { defaultPreferences } from '@parley/contract'
import type { Metrics } from '../../core/metrics.ts'
import type { Db } from '../../db/client.ts'
import type { Log } from '../log.ts'
import type { HandlerContext, Handlers, QueuedTask } from '../tasks.ts'
import { excerptOf, type PushEvent } from './events.ts'
import { limitKept } from './limit-kept.ts'
import { inviteEvent, messageEvent, reactionEvent } from './payloads.ts'
import { createProvider } from './provider.ts'
import {
  type MessageRecipient,
  type MessageRecipients,
  selectInviteRecipients,
  selectMessageRecipients,
  selectReactionRecipients,
} from './recipients.ts'
import { isWanted, kindFor } from './rules.ts'
import { sendAll } from './send.ts'
import type { PushSettings } from './settings.ts'
import { createSubscribers } from './subscribers.ts'

type PushTask = Exclude<keyof Handlers, 'preview'>
type PushContext = Pick<HandlerContext<QueuedTask>, 'signal' | 'giveUp'>
type PushesOptions = { db: Db; push: PushSettings | undefined; metrics: Metrics; log: Log }

/** Sends pushes. Without a provider there are no handlers: other processes may have one. */
export function createPushes({
  db,
  push,
  metrics,
  log,
}: PushesOptions): Partial<Pick<Handlers, PushTask>> {
  if (!push) return {}
  const provider = createProvider(push)
  const mayKeep = limitKept()
  const send = (events: PushEvent[], { signal, giveUp }: PushContext) =>
    sendAll(provider, events, {
      signal,
      metrics,
      log,
      keepRefused: async (events, reason) => {
        if (mayKeep()) await giveUp('push-event', events, reason)
      },
    })
  return {
    'push-message': async (jobs, context) => {
      const messages = await selectMessageRecipients(db, jobs)
      context.continueWith(messages.flatMap(nextPageOf))
      const events = messages.flatMap((message) => messageEvents(push, message, context.takenAt))
      await send(events, context)
    },
    'push-reaction': async (jobs, context) => {
      const authors = await selectReactionRecipients(db, jobs)
      const wanted = authors.filter((author) =>
        isWanted('reaction', preferencesOf(author), context.takenAt),
      )
      const events = wanted.map((author) => reactionEvent(push, author))
      await send(events, context)
    },
    'push-invite': async (jobs, context) => {
      const pages = await Promise.all(jobs.map((job) => selectInviteRecipients(db, job)))
      const wanted = pages
        .flat()
        .filter((user) => isWanted('channel-invite', preferencesOf(user), context.takenAt))
      const events = wanted.map((user) => inviteEvent(push, user))
      await send(events, context)
    },
    'push-event': send,
    ...createSubscribers({ db, provider, metrics, log }),
  }
}

const preferencesOf = ({ chosen }: Pick<MessageRecipient, 'chosen'>) => ({
  ...defaultPreferences,
  ...chosen,
})

const nextPageOf = ({ appId, messageId, lastId }: MessageRecipients) =>
  lastId === null ? [] : [{ appId, messageId, after: lastId }]

const messageEvents = (push: PushSettings, message: MessageRecipients, now: Date) => {
  const excerpt = excerptOf(message.text)
  return message.recipients.flatMap((recipient) => {
    const kind = kindFor(recipient, preferencesOf(recipient), now)
    if (!kind) return []
    return messageEvent(push, kind, { ...message, excerpt, userId: recipient.userId })
  })
}
