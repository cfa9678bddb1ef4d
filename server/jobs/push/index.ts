import { defaultPreferences } from '@parley/contract'
import type { Metrics } from '../../core/metrics.ts'
import type { Db } from '../../db/client.ts'
import type { Log } from '../log.ts'
import type { Handlers } from '../tasks.ts'
import { excerptOf, type PushEvent } from './events.ts'
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
  const send = (events: PushEvent[], signal: AbortSignal) =>
    sendAll(provider, events, { signal, metrics, log })
  return {
    'push-message': async (jobs, { signal, continueWith }) => {
      const messages = await selectMessageRecipients(db, jobs)
      continueWith(messages.flatMap(nextPageOf))
      const now = new Date()
      const events = messages.flatMap((message) => messageEvents(push, message, now))
      await send(events, signal)
    },
    'push-reaction': async (jobs, { signal }) => {
      const authors = await selectReactionRecipients(db, jobs)
      const now = new Date()
      const wanted = authors.filter((author) => isWanted('reaction', preferencesOf(author), now))
      const events = wanted.map((author) => reactionEvent(push, author))
      await send(events, signal)
    },
    'push-invite': async (jobs, { signal }) => {
      const pages = await Promise.all(jobs.map((job) => selectInviteRecipients(db, job)))
      const now = new Date()
      const wanted = pages
        .flat()
        .filter((user) => isWanted('channel-invite', preferencesOf(user), now))
      const events = wanted.map((user) => inviteEvent(push, user))
      await send(events, signal)
    },
    'push-event': (events, { signal }) => send(events, signal),
    ...createSubscribers({ db, provider, log }),
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
