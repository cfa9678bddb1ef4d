/** Fields of Stream's entities that are converted, or left behind. Others are kept as metadata. */

export const TIMES = [
  'created_at',
  'updated_at',
  'last_active',
  'last_message_at',
  'deleted_at',
] as const
/** Includes what only users themselves and moderators may know: here everybody sees `custom`. */
export const USER_FIELDS = [
  ...[...TIMES, 'id', 'name', 'image', 'role', 'teams', 'teams_role', 'language', 'online'],
  ...['banned', 'ban_expires', 'shadow_banned', 'invisible', 'deactivated_at', 'devices'],
  ...['mutes', 'user_mutes', 'channel_mutes', 'blocked_user_ids', 'privacy_settings'],
  ...['push_notifications', 'revoke_tokens_issued_before', 'avg_response_time'],
  'last_engaged_at',
  ...['unread_count', 'unread_channels', 'unread_threads', 'total_unread_count'],
]
export const MEMBER_FIELDS = [
  ...[...TIMES, 'cid', 'channel_id', 'channel_type', 'user', 'user_id', 'role', 'channel_role'],
  ...['is_moderator', 'banned', 'ban_expires', 'shadow_banned', 'notifications_muted', 'status'],
  ...['invited', 'invite_accepted_at', 'invite_rejected_at', 'archived_at', 'pinned_at'],
  ...['deleted_messages'],
]
