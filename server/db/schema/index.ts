/**
 * Every table, once: for migrations, and for the types of rows (see rows.ts). Queries are written
 * in SQL. Each table carries `app_id` where its rows belong to an app, and every query takes the id
 * from the caller's credentials.
 */
export { activeUsers, apiKeys, apps, audit, service } from './apps.ts'
export { channels, formerMembers, members, readMarks } from './channels.ts'
export {
  connections,
  events,
  jobWorkers,
  nodes,
  stagedJobs,
  textRemovals,
  userStreams,
} from './delivery.ts'
export { appImports, importedRows, imports } from './imports.ts'
export {
  linkPreviews,
  messageStreams,
  messages,
  pins,
  reactionCounts,
  reactions,
  tombstoneCounts,
} from './messages.ts'
export { devices, preferences, users } from './users.ts'
export { beforeSendHooks, webhookDeliveries, webhooks } from './webhooks.ts'
export {
  workspaceInvites,
  workspaceInviteUses,
  workspaceMembers,
  workspaces,
} from './workspaces.ts'
