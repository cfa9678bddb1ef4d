import { abandoned } from './abandoned.ts'
import { apps } from './apps.ts'
import { audit } from './audit.ts'
import { channels } from './channels.ts'
import { devices } from './devices.ts'
import { hooks } from './hooks.ts'
import { imports } from './imports.ts'
import { inspect } from './inspect.ts'
import { invites } from './invites.ts'
import { jobs } from './jobs.ts'
import { members } from './members.ts'
import { messages } from './messages.ts'
import { pins } from './pins.ts'
import { preferences } from './preferences.ts'
import { reactions } from './reactions.ts'
import { reads } from './reads.ts'
import { receipts } from './receipts.ts'
import { service } from './service.ts'
import { streams } from './streams.ts'
import { sync } from './sync.ts'
import { tokens } from './tokens.ts'
import { typing } from './typing.ts'
import { users } from './users.ts'
import { webhooks } from './webhooks.ts'
import { workspaces } from './workspaces.ts'

/**
 * Every operation of Parley, by noun. A record holds all that a client or a server has to know
 * about an endpoint.
 */
export const contract = {
  service,
  apps,
  inspect,
  jobs,
  audit,
  tokens,
  users,
  channels,
  members,
  messages,
  streams,
  reactions,
  pins,
  reads,
  receipts,
  sync,
  workspaces,
  invites,
  abandoned,
  devices,
  preferences,
  typing,
  webhooks,
  hooks,
  imports,
}
export type Contract = typeof contract

/** Descriptions of the nouns: the tags of `openapi.json`. */
export const nounDescriptions: Record<keyof Contract, string> = {
  service: 'State of the service, for monitoring and load balancers.',
  apps: 'Tenants, each with its own users, channels and messages; for the operator.',
  inspect: 'What an app has: users, channels, messages and deliveries; for the operator.',
  audit: 'Who did what: acts of the operator, of keys and of moderators; for the operator.',
  jobs: 'Background jobs that were given up; for the operator.',
  tokens: "Tokens for the users of an app; for the app's backend.",
  channels: 'Conversations, from direct messages to public rooms.',
  members: 'The members of a channel and their roles.',
  messages: 'Messages of a channel, numbered by `seq`, with threads of replies.',
  streams: 'Messages whose text grows, for assistants and bots.',
  reactions: 'Emoji on messages.',
  pins: 'Pinned messages of a channel.',
  reads: 'Read position and unread counts of the caller.',
  typing: 'Typing indicators.',
  users: 'The users of an app, as its own user system knows them.',
  receipts: 'Which members have read which messages, and when.',
  sync: 'Catching up after being offline.',
  workspaces: 'Groups of channels, with members of their own.',
  invites: 'Invite links to workspaces.',
  abandoned: "Channels and workspaces that all members have left; for the app's backend.",
  devices: 'Devices that receive push notifications.',
  preferences: 'What a user wants to be notified about.',
  webhooks: "Endpoints that are sent the events of an app; for the app's backend.",
  hooks: "Endpoints that are asked before something happens; for the app's backend.",
  imports: "History from another system; for the app's backend.",
}
