// Generated from the contract by scripts/generate.ts: do not edit.
// biome-ignore-all format: as generated
// biome-ignore-all lint: as generated
import type { OperationTable } from '../calls/calls.ts'

/** The operations that a user may call. */
export const userOperations: OperationTable = {
  service: {
    health: 'GET#none /health',
    live: 'GET#none /health/live',
  },
  users: {
    list: 'GET /api/users',
    get: 'GET /api/users/{userId}',
    sync: 'POST /api/users/sync',
    put: 'PUT* /api/users/{userId}',
    delete: 'DELETE /api/users/{userId}',
    bulkDelete: 'POST /api/users/bulk-delete',
  },
  channels: {
    list: 'GET /api/channels',
    create: 'POST /api/channels',
    get: 'GET /api/channels/{channelId}',
    update: 'PATCH* /api/channels/{channelId}',
    delete: 'DELETE /api/channels/{channelId}',
    updateSettings: 'PATCH* /api/channels/{channelId}/settings',
  },
  members: {
    list: 'GET /api/channels/{channelId}/members',
    add: 'POST /api/channels/{channelId}/members',
    update: 'PATCH* /api/channels/{channelId}/members/{userId}',
    remove: 'DELETE /api/channels/{channelId}/members/{userId}',
    join: 'POST* /api/channels/{channelId}/join',
    leave: 'POST /api/channels/{channelId}/leave',
  },
  messages: {
    list: 'GET /api/channels/{channelId}/messages',
    get: 'GET /api/channels/{channelId}/messages/{messageId}',
    replies: 'GET /api/channels/{channelId}/messages/{messageId}/replies',
    send: 'POST#messages /api/channels/{channelId}/messages',
    sendBatch: 'POST*#messages /api/channels/{channelId}/messages/batch',
    edit: 'PATCH* /api/channels/{channelId}/messages/{messageId}',
    delete: 'DELETE /api/channels/{channelId}/messages/{messageId}',
  },
  streams: {
    append: 'POST*#appends /api/channels/{channelId}/messages/{messageId}/append',
    finish: 'POST* /api/channels/{channelId}/messages/{messageId}/finish',
  },
  reactions: {
    add: 'POST* /api/channels/{channelId}/messages/{messageId}/reactions',
    remove: 'DELETE* /api/channels/{channelId}/messages/{messageId}/reactions/{emoji}',
  },
  pins: {
    pin: 'POST* /api/channels/{channelId}/messages/{messageId}/pin',
    unpin: 'DELETE* /api/channels/{channelId}/messages/{messageId}/pin',
    list: 'GET /api/channels/{channelId}/pins',
  },
  reads: {
    mark: 'POST* /api/channels/{channelId}/read',
    unreadCount: 'GET /api/channels/unread-count',
  },
  receipts: {
    mark: 'POST* /api/channels/{channelId}/receipts',
    get: 'GET /api/channels/{channelId}/receipts/messages/{messageId}/receipts',
    query: 'POST* /api/channels/{channelId}/receipts/query',
    status: 'GET /api/channels/{channelId}/receipts/read-status',
  },
  sync: {
    pull: 'POST* /api/sync',
  },
  workspaces: {
    list: 'GET /api/workspaces',
    create: 'POST /api/workspaces',
    members: 'GET /api/workspaces/{workspaceId}/members',
    removeMember: 'DELETE /api/workspaces/{workspaceId}/members/{userId}',
  },
  invites: {
    create: 'POST /api/workspaces/{workspaceId}/invite',
    list: 'GET /api/workspaces/{workspaceId}/invites',
    revoke: 'DELETE /api/workspaces/{workspaceId}/invites/{inviteId}',
    accept: 'POST /api/invites/{token}/accept',
  },
  devices: {
    create: 'POST /api/devices',
    delete: 'DELETE /api/devices/{deviceId}',
  },
  preferences: {
    get: 'GET /api/devices/preferences',
    update: 'PATCH* /api/devices/preferences',
  },
  typing: {
    set: 'POST /api/channels/{channelId}/typing',
  },
}
