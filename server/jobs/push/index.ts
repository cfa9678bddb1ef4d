import { defaultPreferences } from '@parley/contract'
import type { Db } from '../../db/client.ts'
import type { PushSettings } from '../../env.ts'
import type { Metrics } from '../../metrics.ts'
import type { Log } from '../log.ts'
import type { Handlers } from '../work.ts'
import { type PushEvent, previewOf, pushEvent } from './events.ts'
import { createProvider } from './provider.ts'
import { type Invited, type Reacted, type Reader, selectInvited, selectReacted, selectReaders } from './recipients.ts'
import { isWanted, kindFor } from './rules.ts'
import { sendAll } from './send.ts'
import { createSubscribers } from './subscribers.ts'

type PushTask = Exclude<keyof Handlers, 'preview'>

/** What is pushed to whom. Without a provider nothing is, and that is no fault. */
export function createPushes({ db, push, metrics, log }: { db: Db; push: PushSettings | undefined; metrics: Metrics; log: Log }): Pick<Handlers, PushTask> {
  if (!push) return without
  const provider = createProvider(push)
  const send = (events: PushEvent[], signal: AbortSignal) => sendAll(provider, events, { signal, metrics, log })
  return {
    'push-message': async (jobs, { signal }) => {
      const readers = await selectReaders(db, jobs)
      const now = new Date()
      await send(
        readers.flatMap((reader) => messageEvent(push, reader, now) ?? []),
        signal,
      )
    },
    'push-reaction': async (jobs, { signal }) => {
      const reacted = await selectReacted(db, jobs)
      const now = new Date()
      await send(
        reacted.filter((author) => isWanted('reaction', preferencesOf(author), now)).map((author) => reactionEvent(push, author)),
        signal,
      )
    },
    'push-invite': async (jobs, { signal }) => {
      const invited = (await Promise.all(jobs.map((job) => selectInvited(db, job)))).flat()
      const now = new Date()
      await send(
        invited.filter((user) => isWanted('channel-invite', preferencesOf(user), now)).map((user) => inviteEvent(push, user)),
        signal,
      )
    },
    'push-event': (events, { signal }) => send(events, signal),
    ...createSubscribers({ db, provider, log }),
  }
}

const nothing = async () => {}
const without: Pick<Handlers, PushTask> = {
  'push-message': nothing,
  'push-reaction': nothing,
  'push-invite': nothing,
  'push-event': nothing,
  subscriber: nothing,
  device: nothing,
}

const preferencesOf = ({ chosen }: Pick<Reader, 'chosen'>) => ({ ...defaultPreferences, ...chosen })

function messageEvent(push: PushSettings, reader: Reader, now: Date) {
  const { userId, messageId, channelId, channelName, threadId, senderId, senderName, senderAvatar } = reader
  const about = { about: messageId, userId }
  const preview = previewOf(reader.text)
  switch (kindFor(reader, preferencesOf(reader), now)) {
    case 'mention':
      return pushEvent(push, 'mention', {
        ...about,
        payload: { mentionedBy: senderId, mentionedByName: senderName, channelId, channelName, messagePreview: preview, messageId },
      })
    case 'thread-reply':
      return pushEvent(push, 'thread-reply', {
        ...about,
        payload: { replierId: senderId, replierName: senderName, channelId, channelName, threadId: threadId ?? '', replyPreview: preview },
      })
    case 'new-message':
      return pushEvent(push, 'new-message', {
        ...about,
        payload: { senderId, senderName, senderAvatar, channelId, channelName, messagePreview: preview, messageId },
      })
  }
}

/** Each reaction is told of once, however often it is taken back and given again. */
const reactionEvent = (push: PushSettings, { userId, messageId, channelId, text, emoji, reactorId, reactorName }: Reacted) =>
  pushEvent(push, 'reaction', {
    about: `${messageId}:${reactorId}:${emoji}`,
    userId,
    payload: { reactorId, reactorName, emoji, channelId, messagePreview: previewOf(text), messageId },
  })

const inviteEvent = (push: PushSettings, { userId, channelId, channelName, channelDescription, invitedBy, invitedByName, joinedAt }: Invited) =>
  pushEvent(push, 'channel-invite', {
    about: `${channelId}:${Date.parse(joinedAt)}`,
    userId,
    payload: { invitedBy, invitedByName, channelId, channelName, channelDescription },
  })
