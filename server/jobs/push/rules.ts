import type { Preferences } from '@parley/contract'
import type { Kind } from './settings.ts'

const flags = {
  'new-message': 'newMessages',
  mention: 'mentions',
  'channel-invite': 'channelInvites',
  reaction: 'reactions',
  'thread-reply': 'threadReplies',
} as const

/** What a message is to somebody. */
export type Relation = { isMentioned: boolean; isInThread: boolean; isMuted: boolean }

/** The one push that a user gets for a message: the most personal that he wants, if any. */
export const kindFor = (
  { isMentioned, isInThread, isMuted }: Relation,
  preferences: Preferences,
  now: Date,
): Kind | undefined => {
  if (isSilent(preferences, now)) return undefined
  if (isMentioned && preferences.mentions) return 'mention'
  if (isInThread && preferences.threadReplies) return 'thread-reply'
  return preferences.newMessages && !isMuted ? 'new-message' : undefined
}

/** Whether a user wants this kind of push now. */
export const isWanted = (kind: Kind, preferences: Preferences, now: Date) =>
  !isSilent(preferences, now) && preferences[flags[kind]]

const isSilent = (preferences: Preferences, now: Date) =>
  !preferences.pushEnabled || isQuiet(preferences, now)

/** Quiet hours by the clock on the user's wall: from the first minute to before the last, over midnight if need be. */
export function isQuiet(
  { quietHoursEnabled, quietHoursStart: start, quietHoursEnd: end, timezone }: Preferences,
  now: Date,
) {
  if (!quietHoursEnabled) return false
  const time = clockOf(timezone).format(now)
  return start <= end ? start <= time && time < end : start <= time || time < end
}

/** Making one costs far more than using it; there are about 600 zones. */
const clocks = new Map<string, Intl.DateTimeFormat>()
function clockOf(timeZone: string) {
  const clock =
    clocks.get(timeZone) ??
    new Intl.DateTimeFormat('en-GB', {
      timeZone,
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    })
  clocks.set(timeZone, clock)
  return clock
}
