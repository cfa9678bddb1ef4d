import type { Operation } from '@parley/contract'

/** The kinds of ids and times that a fixture has, and how many of each. */
export const pools = {
  appId: 1,
  spareAppId: 3,
  keyId: 3,
  jobId: 3,
  userId: 4,
  channelId: 3,
  messageId: 3,
  streamId: 3,
  workspaceId: 2,
  emptyChannelId: 3,
  emptyWorkspaceId: 3,
  inviteId: 3,
  deviceId: 3,
  invite: 3,
  webhookId: 3,
  deliveryId: 3,
  recentTime: 1,
}
export type Pool = keyof typeof pools
/** The operation and the field that a schema belongs to. */
export type Field = { id: string; name: string }
/** The pool that a field draws from, if it names something. */
export const poolOf = ({ id, name }: Field): Pool | undefined => {
  if (name === 'appId' && /^apps\.(update|delete)$/.test(id)) return 'spareAppId'
  if (name === 'token') {
    return id === 'invites.accept' ? 'invite' : undefined
  }
  if (id === 'abandoned.deleteChannel') return 'emptyChannelId'
  if (id === 'abandoned.deleteWorkspace') return 'emptyWorkspaceId'
  if (id === 'webhooks.replay' && name === 'since') return 'recentTime'
  if (name === 'deviceId') {
    return id === 'devices.delete' ? 'deviceId' : undefined
  }
  if (name === 'messageId' && id.startsWith('streams.')) return 'streamId'
  if (['parentId', 'quotedMessageId', 'before', 'after'].includes(name)) return 'messageId'
  if (name in plurals) return plurals[name as keyof typeof plurals] // just looked up
  return name in pools ? (name as Pool) : undefined // just looked up
}
/** The pools that the fields of an operation draw from. */
export const poolsOf = (id: string, { input }: Operation) =>
  new Set(Object.keys(input.shape).flatMap((name) => poolOf({ id, name }) ?? []))

const plurals = {
  userIds: 'userId',
  memberIds: 'userId',
  messageIds: 'messageId',
  channels: 'channelId',
} as const
