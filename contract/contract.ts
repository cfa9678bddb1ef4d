import { apps } from './apps.ts'
import { channels } from './channels.ts'
import { devices } from './devices.ts'
import { invites } from './invites.ts'
import { members } from './members.ts'
import { messages } from './messages.ts'
import { pins } from './pins.ts'
import { preferences } from './preferences.ts'
import { reactions } from './reactions.ts'
import { reads } from './reads.ts'
import { receipts } from './receipts.ts'
import { service } from './service.ts'
import { sync } from './sync.ts'
import { tokens } from './tokens.ts'
import { typing } from './typing.ts'
import { users } from './users.ts'
import { workspaces } from './workspaces.ts'

/** Every operation of Parley, by noun. All that a client or a server needs to know of an endpoint is in its record. */
export const contract = {
  service, apps, tokens, users, channels, members, messages, reactions, pins, reads, receipts, sync, workspaces, invites, devices, preferences,
  typing,
} // biome-ignore format: a list
export type Contract = typeof contract

/** What each noun is about; the tags of `openapi.json`. */
export const tagDescriptions: Record<keyof Contract, string> = {
  service: 'Whether the service is up.',
  apps: 'Tenants, each with its own users, channels and messages; for the operator.',
  tokens: 'Tokens for the users of an app; for its backend.',
  channels: 'Conversations, from direct messages of two to public rooms.',
  members: 'Who is in a channel, and in which role.',
  messages: 'Messages of a channel, numbered by `seq`, with threads of replies.',
  reactions: 'Emoji on messages.',
  pins: 'Messages kept at hand in their channel.',
  reads: 'How far the caller has read, and what is left.',
  typing: 'Who is writing just now.',
  users: 'The people of an app, as its own user system knows them.',
  receipts: 'Who has read which message, and when.',
  sync: 'Catching up after having been away.',
  workspaces: 'Groups of channels, with members of their own.',
  invites: 'Links that lead into a workspace.',
  devices: 'Devices that get push notifications.',
  preferences: 'What a user wants to be notified of.',
}
