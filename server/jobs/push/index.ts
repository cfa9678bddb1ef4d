import { defaultPreferences } from '@parley/contract'
import type { Metrics } from '../../core/metrics.ts'
import type { Db } from '../../db/client.ts'
import type { Log } from '../log.ts'
import type { Handlers } from '../tasks.ts'
import { type PushEvent, previewOf, pushEvent } from './events.ts'
import { createProvider } from './provider.ts'
import {
  type Invited,
  type Reacted,
  type Read,
  type Reader,
  selectInvited,
  selectReacted,
  selectRead,
} from './recipients.ts'
import { isWanted, kindFor } from './rules.ts'
import { sendAll } from './send.ts'
import type { PushSettings } from './settings.ts'
import { createSubscribers } from './subscribers.ts'

type PushTask = Exclude<keyof Handlers, 'preview'>
type Tools = { db: Db; push: PushSettings | undefined; metrics: Metrics; log: Log }

/** What is pushed to whom. Without a provider it is left to processes that have one. */
export function createPushes({ db, push, metrics, log }: Tools): Partial<Pick<Handlers, PushTask>> {
  if (!push) return {}
  const provider = createProvider(push)
  const send = (events: PushEvent[], signal: AbortSignal) =>
    sendAll(provider, events, { signal, metrics, log })
  return {
    'push-message': async (jobs, { signal, goOn }) => {
      const read = await selectRead(db, jobs)
      goOn(
        read.flatMap(({ appId, messageId, lastId }) =>
          lastId === null ? [] : [{ appId, messageId, after: lastId }],
        ),
      )
      const now = new Date()
      await send(
        read.flatMap((message) => messageEvents(push, message, now)),
        signal,
      )
    },
    'push-reaction': async (jobs, { signal }) => {
      const reacted = await selectReacted(db, jobs)
      const now = new Date()
      await send(
        reacted
          .filter((author) => isWanted('reaction', preferencesOf(author), now))
          .map((author) => reactionEvent(push, author)),
        signal,
      )
    },
    'push-invite': async (jobs, { signal }) => {
      const invited = (await Promise.all(jobs.map((job) => selectInvited(db, job)))).flat()
      const now = new Date()
      await send(
        invited
          .filter((user) => isWanted('channel-invite', preferencesOf(user), now))
          .map((user) => inviteEvent(push, user)),
        signal,
      )
    },
    'push-event': (events, { signal }) => send(events, signal),
    ...createSubscribers({ db, provider, log }),
  }
}

const preferencesOf = ({ chosen }: Pick<Reader, 'chosen'>) => ({ ...defaultPreferences, ...chosen })

function messageEvents(push: PushSettings, { readers, text, ...message }: Read, now: Date) {
  const preview = previewOf(text)
  return readers.flatMap((reader) => messageEvent(push, { ...message, preview, reader, now }) ?? [])
}

type Told = Omit<Read, 'readers' | 'text'> & { preview: string; reader: Reader; now: Date }
function messageEvent(
  push: PushSettings,
  {
    reader,
    preview,
    now,
    messageId,
    channelId,
    channelName,
    threadId,
    senderId,
    senderName,
    senderAvatar,
  }: Told,
) {
  const about = { about: messageId, userId: reader.userId }
  switch (kindFor(reader, preferencesOf(reader), now)) {
    case 'mention':
      return pushEvent(push, 'mention', {
        ...about,
        payload: {
          mentionedBy: senderId,
          mentionedByName: senderName,
          channelId,
          channelName,
          messagePreview: preview,
          messageId,
        },
      })
    case 'thread-reply':
      return pushEvent(push, 'thread-reply', {
        ...about,
        payload: {
          replierId: senderId,
          replierName: senderName,
          channelId,
          channelName,
          threadId: threadId ?? '',
          replyPreview: preview,
        },
      })
    case 'new-message':
      return pushEvent(push, 'new-message', {
        ...about,
        payload: {
          senderId,
          senderName,
          senderAvatar,
          channelId,
          channelName,
          messagePreview: preview,
          messageId,
        },
      })
  }
}

/** Each reaction is told of once, however often it is taken back and given again. */
const reactionEvent = (
  push: PushSettings,
  { userId, messageId, channelId, text, emoji, reactorId, reactorName }: Reacted,
) =>
  pushEvent(push, 'reaction', {
    about: `${messageId}:${reactorId}:${emoji}`,
    userId,
    payload: {
      reactorId,
      reactorName,
      emoji,
      channelId,
      messagePreview: previewOf(text),
      messageId,
    },
  })

const inviteEvent = (
  push: PushSettings,
  {
    userId,
    channelId,
    channelName,
    channelDescription,
    invitedBy,
    invitedByName,
    joinedAt,
  }: Invited,
) =>
  pushEvent(push, 'channel-invite', {
    about: `${channelId}:${Date.parse(joinedAt)}`,
    userId,
    payload: { invitedBy, invitedByName, channelId, channelName, channelDescription },
  })
