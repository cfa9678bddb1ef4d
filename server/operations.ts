import type { Contract } from '@parley/contract'
import { apps } from './features/apps.ts'
import { channels } from './features/channels/index.ts'
import { devices } from './features/devices.ts'
import { invites } from './features/invites.ts'
import { members } from './features/members/index.ts'
import { messages } from './features/messages/index.ts'
import { pins } from './features/pins.ts'
import { preferences } from './features/preferences.ts'
import { reactions } from './features/reactions.ts'
import { reads } from './features/reads.ts'
import { receipts } from './features/receipts.ts'
import { service } from './features/service.ts'
import { sync } from './features/sync.ts'
import { tokens } from './features/tokens.ts'
import { users } from './features/users/index.ts'
import { workspaces } from './features/workspaces/index.ts'
import type { Implements } from './implement.ts'

/** The implementation of every operation of the contract; a missing one does not compile. */
// biome-ignore format: a list
export const operations = {
  service, apps, tokens, users, channels, members, messages, reactions, pins, reads, receipts, sync, workspaces, invites, devices, preferences,
} satisfies {
  [Group in keyof Contract]: Implements<Group>
}
