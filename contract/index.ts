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
import { users } from './users.ts'
import { workspaces } from './workspaces.ts'

/** Every operation of Parley, by noun. All that a client or a server needs to know of an endpoint is in its record. */
export const contract = {
  service, apps, tokens, users, channels, members, messages, reactions, pins, reads, receipts, sync, workspaces, invites, devices, preferences,
} // biome-ignore format: a list
export type Contract = typeof contract

export { Channel, ChannelProfile, ChannelType } from './channels.ts'
export { ErrorBody, type ErrorCode, errorMeaning, errorStatus } from './errors.ts'
export { type ChannelEvent, type ChannelEventType, channelEvents, topics, type UserEvent, type UserEventType, userEvents } from './events.ts'
export { limits } from './limits.ts'
export { Member, Role } from './members.ts'
export { Attachment, LinkPreview, Message, Reaction } from './messages.ts'
export { type Args, type Auth, type Input, type Limit, type Method, type Operation, type Output, pathParameters } from './operation.ts'
export { PinnedMessage } from './pins.ts'
export { Emoji } from './reactions.ts'
export { defaultPreferences, Preferences } from './preferences.ts'
export { Reader } from './receipts.ts'
export type { AppRouter } from './router.ts'
export { ChannelChanges } from './sync.ts'
export { TokenResult } from './tokens.ts'
export { User, UserDetails, UserRow, UserSummary } from './users.ts'
export { Workspace, WorkspaceMember, WorkspaceRole, workspaceRoles } from './workspaces.ts'
