export { AbandonedChannel, AbandonedWorkspace } from './abandoned.ts'
export { App, AppSettings } from './apps.ts'
export { Attachment } from './attachments.ts'
export { AuditEntry } from './audit.ts'
export { Channel, ChannelProfile, ChannelType } from './channels.ts'
export { type Contract, contract, nounDescriptions } from './contract.ts'
export { customProblem } from './custom.ts'
export { DevicePlatform, DeviceProvider } from './devices.ts'
export { ErrorBody, type ErrorCode, errorDescriptions, errorStatus } from './errors.ts'
export {
  type ChannelEvent,
  type ChannelEventType,
  channelEvents,
  type Envelope,
  type EphemeralChannelEvent,
  type EphemeralChannelEventType,
  type EphemeralUserEvent,
  type EphemeralUserEventType,
  ephemeralChannelEvents,
  ephemeralUserEvents,
  type UserEvent,
  type UserEventType,
  userEvents,
} from './events.ts'
export { isUserId, systemUserId } from './fields.ts'
export { BeforeSendAnswer, BeforeSendQuestion, type OnHookError } from './hooks.ts'
export type { ImportReport } from './import-report.ts'
export { type ImportKind, ImportRecord, type ImportRecordInput } from './imports.ts'
export { InspectedChannel } from './inspect.ts'
export { Invite } from './invites.ts'
export { expected, formatIssues } from './issues.ts'
export { grouped, limits } from './limits.ts'
export { LinkPreview } from './link-previews.ts'
export { Member, Role } from './members.ts'
export { MessageType } from './message-drafts.ts'
export { Message, Reaction } from './messages.ts'
export {
  type Args,
  type Auth,
  type Input,
  type KeyScope,
  type Limit,
  type Method,
  type Operation,
  type Output,
  pathParameters,
} from './operation.ts'
export { PinnedMessage } from './pins.ts'
export { defaultPreferences, Preferences } from './preferences.ts'
export { QuotedMessage } from './quotes.ts'
export { Emoji } from './reactions.ts'
export { Reader } from './receipts.ts'
export type { AppRouter } from './router.ts'
export { ChannelChanges } from './sync.ts'
export { TokenResult } from './tokens.ts'
export {
  endpointPath,
  parseTopic,
  streamPaths,
  TopicInput,
  type TopicRef,
  topics,
} from './topics.ts'
export { ExportItem } from './user-export.ts'
export { User, UserDetails, UserInput, UserSummary } from './users.ts'
export { EventPattern, webhookEvents } from './webhook-events.ts'
export { Webhook, WebhookDelivery } from './webhooks.ts'
export { Workspace, WorkspaceMember, WorkspaceRole, workspaceRoles } from './workspaces.ts'
