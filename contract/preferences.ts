import { z } from 'zod'
import * as field from './fields.ts'
import { operation } from './operation.ts'

const flag = (description: string, value = true) =>
  z.boolean().meta({ description, examples: [value] })
const time = (description: string, value: string) =>
  z
    .string()
    .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'expected HH:MM, 00:00 to 23:59')
    .meta({ description, examples: [value] })

const isTimezone = (value: string) => {
  try {
    return (
      /^[A-Za-z]/.test(value) && new Intl.DateTimeFormat('en', { timeZone: value }) !== undefined
    )
  } catch {
    return false
  }
}

/** What a user wants to be notified of (SPEC "Notification preferences", DESIGN §4 preferences). */
export const Preferences = z
  .object({
    pushEnabled: flag('Any push at all.'),
    newMessages: flag('New messages in channels that are not muted.'),
    mentions: flag('Being mentioned.'),
    reactions: flag('Reactions to own messages.'),
    channelInvites: flag('Being added to a channel.'),
    threadReplies: flag('Replies in threads one takes part in.'),
    quietHoursEnabled: flag('Whether pushes are dropped during quiet hours.', false),
    quietHoursStart: time('First minute of the quiet hours.', '22:00'),
    quietHoursEnd: time('First minute after the quiet hours.', '08:00'),
    timezone: field
      .text({ min: 1, max: 64 })
      .refine(isTimezone, 'expected an IANA time zone like Europe/Berlin')
      .meta({ description: 'IANA time zone of the quiet hours.', examples: ['Europe/Berlin'] }),
  })
  .meta({ id: 'Preferences', description: 'What a user wants to be notified of.' })
export type Preferences = z.infer<typeof Preferences>

/** What holds for a user who never said otherwise. */
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

const preferencesField = Preferences.meta({ description: 'Your preferences, defaults filled in.' })
const providerList = (description: string) =>
  z.array(z.unknown()).meta({ description, examples: [[]] })

/** Notification preferences of the caller (SPEC "Devices and preferences"). */
export const preferences = {
  /** The caller's preferences, defaults filled in. */
  get: operation({
    method: 'GET',
    path: '/api/devices/preferences',
    auth: 'user',
    summary: 'Get notification preferences',
    description:
      'Your notification preferences, defaults filled in, and those kept by the push provider.',
    input: z.object({}),
    output: z.object({
      preferences: preferencesField,
      providerPreferences: z
        .object({
          channels: providerList('By channel of delivery.'),
          workflows: providerList('By kind of notification.'),
        })
        .meta({ description: 'As the push provider keeps them; empty without one.' }),
    }),
  }),
  /** Changes the given preferences and keeps the others. Unknown names are refused. */
  update: operation({
    method: 'PATCH',
    path: '/api/devices/preferences',
    auth: 'user',
    summary: 'Change notification preferences',
    description: 'Changes the preferences given and keeps the others. Unknown names are refused.',
    input: Preferences.partial()
      .strict()
      .meta({ id: 'PreferencesPatch', description: 'Any subset of the preferences.' }),
    output: z.object({ preferences: preferencesField }),
  }),
}
