import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

const flag = (description: string, value = true) =>
  z.boolean().meta({ description, examples: [value] })
const timeOfDay = (description: string, value: string) =>
  z
    .string()
    .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'expected HH:MM, 00:00 to 23:59')
    .meta({ description, examples: [value] })

// The first letter excludes offsets like +01:00, which newer engines accept as time zones too.
const isTimezone = (value: string) => {
  try {
    return (
      /^[A-Za-z]/.test(value) && new Intl.DateTimeFormat('en', { timeZone: value }) !== undefined
    )
  } catch {
    return false
  }
}

/** The notifications that a user wants. */
export const Preferences = z
  .object({
    pushEnabled: flag('Any push notification at all.'),
    newMessages: flag('New messages in channels that are not muted.'),
    mentions: flag('Being mentioned.'),
    reactions: flag('Reactions to your own messages.'),
    channelInvites: flag('Being added to a channel.'),
    threadReplies: flag('Replies in threads you take part in.'),
    quietHoursEnabled: flag('Whether notifications are dropped during quiet hours.', false),
    quietHoursStart: timeOfDay('First minute of the quiet hours.', '22:00'),
    quietHoursEnd: timeOfDay('First minute after the quiet hours.', '08:00'),
    timezone: field
      .text({ min: 1, max: limits.timezoneLength })
      .refine(isTimezone, 'expected an IANA time zone like Europe/Berlin')
      .meta({ description: 'IANA time zone of the quiet hours.', examples: ['Europe/Berlin'] }),
  })
  .meta({ id: 'Preferences', description: 'What a user wants to be notified about.' })
export type Preferences = z.infer<typeof Preferences>

/** The preferences of a user who has not changed any. */
export const defaultPreferences: Preferences = {
  pushEnabled: true,
  newMessages: true,
  mentions: true,
  reactions: true,
  channelInvites: true,
  threadReplies: true,
  quietHoursEnabled: false,
  quietHoursStart: '22:00',
  quietHoursEnd: '08:00',
  timezone: 'UTC',
}

const preferencesField = Preferences.meta({
  description: 'Your preferences, including the defaults of those you never changed.',
})
const providerList = (description: string) =>
  z.array(z.unknown()).meta({ description, examples: [[]] })

/** Notification preferences of the caller. */
export const preferences = {
  get: operation({
    method: 'GET',
    path: '/api/devices/preferences',
    auth: 'user',
    summary: 'Get notification preferences',
    description: 'Returns your notification preferences, and those that the push provider stores.',
    input: z.object({}),
    output: z.object({
      preferences: preferencesField,
      providerPreferences: z
        .object({
          channels: providerList('By delivery channel.'),
          workflows: providerList('By kind of notification.'),
        })
        .meta({
          description:
            'As the push provider stores them; empty without a provider, or if it does not ' +
            'answer or is asked too often.',
        }),
    }),
  }),
  update: operation({
    method: 'PATCH',
    path: '/api/devices/preferences',
    auth: 'user',
    idempotent: true,
    summary: 'Change notification preferences',
    description: 'Changes the given preferences and keeps the others. Unknown names are an error.',
    input: Preferences.partial()
      .strict()
      .meta({ id: 'PreferencesPatch', description: 'Any subset of the preferences.' }),
    output: z.object({ preferences: preferencesField }),
  }),
}
