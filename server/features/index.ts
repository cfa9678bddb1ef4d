import type { Contract } from '@parley/contract'
import type { Implements } from '../core/operation.ts'
import { abandoned } from './abandoned.ts'
import { apps } from './apps/index.ts'
import { audit } from './audit.ts'
import { channels } from './channels/index.ts'
import { devices } from './devices.ts'
import { hooks } from './hooks.ts'
import { imports } from './imports/index.ts'
import { inspect } from './inspect/index.ts'
import { invites } from './invites.ts'
import { jobs } from './jobs.ts'
import { members } from './members/index.ts'
import { messages } from './messages/index.ts'
import { pins } from './pins.ts'
import { preferences } from './preferences.ts'
import { reactions } from './reactions.ts'
import { reads } from './reads.ts'
import { receipts } from './receipts.ts'
import { service } from './service.ts'
import { streams } from './streams/index.ts'
import { sync } from './sync.ts'
import { tokens } from './tokens.ts'
import { typing } from './typing.ts'
import { users } from './users/index.ts'
import { webhooks } from './webhooks/index.ts'
import { workspaces } from './workspaces/index.ts'

/** The implementation of every operation of the contract; a missing one does not compile. */
export const operations = {
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
} satisfies { [Noun in keyof Contract]: Implements<Noun> }
