import type { Preferences } from '@parley/contract'
import { createLru } from '../../core/lru.ts'
import type { PushKind } from './settings.ts'

const preferenceOf = {
  'new-message': 'newMessages',
  mention: 'mentions',
  'channel-invite': 'channelInvites',
  reaction: 'reactions',
  'thread-reply': 'threadReplies',
} as const satisfies Record<PushKind, keyof Preferences>

/** How a user relates to a message in one of their channels. */
export type MessageRelation = { isMentioned: boolean; isInThread: boolean; isMuted: boolean }

export type MessagePushKind = Extract<PushKind, 'mention' | 'thread-reply' | 'new-message'>

/** The one push that a user gets for a message: the most personal kind they want, if any. */
export const kindFor = (
  { isMentioned, isInThread, isMuted }: MessageRelation,
  preferences: Preferences,
  now: Date,
): MessagePushKind | undefined => {
  if (isSilent(preferences, now)) return undefined
  if (isMentioned && preferences.mentions) return 'mention'
  if (isInThread && preferences.threadReplies) return 'thread-reply'
  return preferences.newMessages && !isMuted ? 'new-message' : undefined
}

/** Whether a user wants this kind of push now. */
export const isWanted = (kind: PushKind, preferences: Preferences, now: Date) =>
  !isSilent(preferences, now) && preferences[preferenceOf[kind]]

const isSilent = (preferences: Preferences, now: Date) =>
  !preferences.pushEnabled || isQuiet(preferences, now)

/** Whether `now` is in the user's quiet hours. They may cross midnight; the end is excluded. */
export function isQuiet(
  { quietHoursEnabled, quietHoursStart: start, quietHoursEnd: end, timezone }: Preferences,
  now: Date,
) {
  if (!quietHoursEnabled) return false
  const time = clockOf(timezone).format(now)
  return start <= end ? start <= time && time < end : start <= time || time < end
}

/**
 * A formatter for each of the about 600 timezones: making one costs far more than using it. Each of
 * them has names without end, in upper and lower case.
 */
const clocks = createLru<Intl.DateTimeFormat>({ entries: 1_000 })
function clockOf(timeZone: string) {
  const existing = clocks.get(timeZone)
  if (existing) return existing
  const clock = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  clocks.set(timeZone, clock)
  return clock
}
