// Generated from the contract by scripts/generate.ts: do not edit.
// biome-ignore-all format: as generated
// biome-ignore-all lint: as generated
import type { OperationTable } from '../calls/calls.ts'

/** All operations. */
export const operations: OperationTable = {
  service: {
    health: 'GET#none /health',
    live: 'GET#none /health/live',
  },
  apps: {
    list: 'GET /admin/apps',
    create: 'POST /admin/apps',
    get: 'GET /admin/apps/{appId}',
    update: 'PATCH* /admin/apps/{appId}',
    delete: 'DELETE /admin/apps/{appId}',
    usage: 'GET /admin/apps/{appId}/usage',
    listKeys: 'GET /admin/apps/{appId}/keys',
    createKey: 'POST /admin/apps/{appId}/keys',
    updateKey: 'PATCH* /admin/apps/{appId}/keys/{keyId}',
    deleteKey: 'DELETE /admin/apps/{appId}/keys/{keyId}',
  },
  inspect: {
    users: 'GET /admin/apps/{appId}/users',
    notifications: 'GET /admin/apps/{appId}/users/{userId}/notifications',
    channels: 'GET /admin/apps/{appId}/channels',
    messages: 'GET /admin/apps/{appId}/channels/{channelId}/messages',
    webhooks: 'GET /admin/apps/{appId}/webhooks',
    deliveries: 'GET /admin/apps/{appId}/webhooks/{webhookId}/deliveries',
  },
  jobs: {
    list: 'GET /admin/apps/{appId}/jobs',
    retry: 'POST /admin/apps/{appId}/jobs/{jobId}/retry',
  },
  audit: {
    list: 'GET /admin/audit',
    listOfApp: 'GET /admin/apps/{appId}/audit',
  },
  tokens: {
    create: 'POST#tokens /tokens',
    revoke: 'POST /tokens/revoke',
  },
  users: {
    list: 'GET /api/users',
    get: 'GET /api/users/{userId}',
    sync: 'POST /api/users/sync',
    put: 'PUT* /api/users/{userId}',
    delete: 'DELETE /api/users/{userId}',
    bulkDelete: 'POST /api/users/bulk-delete',
    export: 'GET /api/users/{userId}/export',
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
  abandoned: {
    channels: 'GET /api/abandoned/channels',
    deleteChannel: 'DELETE /api/abandoned/channels/{channelId}',
    workspaces: 'GET /api/abandoned/workspaces',
    deleteWorkspace: 'DELETE /api/abandoned/workspaces/{workspaceId}',
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
  webhooks: {
    create: 'POST /webhooks',
    list: 'GET /webhooks',
    update: 'PATCH* /webhooks/{webhookId}',
    delete: 'DELETE /webhooks/{webhookId}',
    rotate: 'POST /webhooks/{webhookId}/rotate',
    test: 'POST /webhooks/{webhookId}/test',
    deliveries: 'GET /webhooks/{webhookId}/deliveries',
    retry: 'POST* /webhooks/{webhookId}/deliveries/{deliveryId}/retry',
    replay: 'POST* /webhooks/{webhookId}/replay',
  },
  hooks: {
    setBeforeSend: 'PUT* /hooks/before-send',
    getBeforeSend: 'GET /hooks/before-send',
    deleteBeforeSend: 'DELETE /hooks/before-send',
    rotateBeforeSend: 'POST /hooks/before-send/rotate',
  },
  imports: {
    run: 'POST* /import',
  },
}
