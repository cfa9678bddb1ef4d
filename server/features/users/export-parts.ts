import { limits } from '@parley/contract'
import { isoTime } from '../../db/sql.ts'
import { byChannel, byId, isCreator, isTheirs, type Part, single } from './export-part.ts'

/** The parts of an export, in this order. Secrets are left out: the push tokens of devices. */
export const exportParts: Part[] = [
  single('profile', (db, { appId, userId }) => ({
    data: db`jsonb_build_object(
      'id', u.id, 'name', u.name, 'email', u.email, 'image', u.image, 'custom', u.custom,
      'lastActiveAt', ${isoTime(db, db`u.last_active_at`)},
      'createdAt', ${isoTime(db, db`u.created_at`)},
      'updatedAt', ${isoTime(db, db`u.updated_at`)}
    )`,
    rows: db`users u
        where u.app_id = ${appId}
          and u.id = ${userId}`,
  })),
  byId('device', (db, { appId, userId }) => ({
    id: db`d.id`,
    data: db`jsonb_build_object(
      'id', d.id, 'platform', d.platform, 'provider', d.provider,
      'deviceId', d.device_id, 'appVersion', d.app_version,
      'createdAt', ${isoTime(db, db`d.created_at`)},
      'updatedAt', ${isoTime(db, db`d.updated_at`)}
    )`,
    rows: db`devices d
        where d.app_id = ${appId}
          and d.user_id = ${userId}`,
  })),
  single('preferences', (db, { appId, userId }) => ({
    data: db`jsonb_build_object(
      'chosen', pref.chosen, 'updatedAt', ${isoTime(db, db`pref.updated_at`)}
    )`,
    rows: db`preferences pref
        where pref.app_id = ${appId}
          and pref.user_id = ${userId}`,
  })),
  byId('workspace', (db, { appId, userId }) => ({
    id: db`wm.workspace_id`,
    data: db`jsonb_build_object(
      'workspaceId', wm.workspace_id, 'role', wm.role,
      'isCreator', ${isCreator(db, { appId, userId, of: 'w' })},
      'joinedAt', ${isoTime(db, db`wm.joined_at`)}
    )`,
    rows: db`workspace_members wm
        join workspaces w on w.id = wm.workspace_id
        where wm.app_id = ${appId}
          and wm.user_id = ${userId}`,
  })),
  byId('membership', (db, { appId, userId }) => ({
    id: db`m.channel_id`,
    data: db`jsonb_build_object(
      'channelId', m.channel_id, 'role', m.role, 'lastReadSeq', m.last_read_seq,
      'starred', m.starred, 'muted', m.muted, 'custom', m.custom,
      'isCreator', ${isCreator(db, { appId, userId, of: 'c' })},
      'joinedAt', ${isoTime(db, db`m.joined_at`)}
    )`,
    rows: db`members m
        join channels c on c.id = m.channel_id and c.deleted_at is null
        where m.app_id = ${appId}
          and m.user_id = ${userId}`,
  })),
  byChannel('message', (db, { appId, userId, channelId, afterSeq }) => ({
    keys: db`
      select msg.seq
      from messages msg
      where msg.channel_id = ${channelId}
        and msg.user_id collate "C" = ${userId}
        and msg.seq > ${afterSeq}
      order by msg.seq`,
    // Tombstones from before the user are those of an earlier user with the id, who was erased.
    data: db`case
      when msg.deleted_at is null or msg.deleted_at >= (
        select u.created_at
        from users u
        where u.app_id = ${appId}
          and u.id = ${userId}
      )
      then jsonb_build_object(
        'id', msg.id, 'channelId', msg.channel_id, 'seq', msg.seq,
        'parentId', msg.parent_id, 'quotedMessageId', msg.quoted_id,
        'text', msg.text, 'mentions', msg.mentions, 'attachments', msg.attachments,
        'custom', msg.custom, 'clientId', msg.client_id,
        'createdAt', ${isoTime(db, db`msg.created_at`)},
        'editedAt', ${isoTime(db, db`msg.edited_at`)},
        'deletedAt', ${isoTime(db, db`msg.deleted_at`)}
      )
    end`,
    rows: db`messages msg on msg.channel_id = found.channel_id and msg.seq = found.seq`,
  })),
  {
    kind: 'reaction',
    isPosition: ({ second }) => second.length <= limits.emojiBytes,
    select: async (db, { appId, userId, first, second }) => ({
      rows: db`
        select
          row_number() over (order by r.message_id, r.emoji) as ordinal,
          r.message_id::text as first, r.emoji as second,
          jsonb_build_object(
            'messageId', r.message_id, 'emoji', r.emoji,
            'createdAt', ${isoTime(db, db`r.created_at`)}
          ) as data
        from reactions r
        join messages msg on msg.id = r.message_id and msg.deleted_at is null
        join channels c on c.id = msg.channel_id and c.deleted_at is null
        where r.app_id = ${appId}
          and r.user_id = ${userId}
          and (r.message_id, r.emoji) > (${first}, ${second})
        order by r.message_id, r.emoji
        limit ${limits.exportPage}`,
    }),
  },
  byChannel('read', (db, { userId, channelId, afterSeq }) => ({
    keys: db`
      select rm.seq
      from read_marks rm
      where rm.channel_id = ${channelId}
        and rm.user_id = ${userId}
        and rm.seq > ${afterSeq}
      order by rm.seq`,
    data: db`jsonb_build_object(
      'channelId', rm.channel_id, 'seq', rm.seq, 'readAt', ${isoTime(db, db`rm.read_at`)}
    )`,
    rows: db`read_marks rm
          on rm.channel_id = found.channel_id
          and rm.user_id = ${userId}
          and rm.seq = found.seq`,
  })),
  byChannel('pin', (db, { appId, userId, channelId, afterSeq }) => ({
    keys: db`
      select msg.seq
      from pins p
      join messages msg on msg.id = p.message_id
      where p.channel_id = ${channelId}
        and p.pinned_by = ${userId}
        and ${isTheirs(db, { appId, userId, at: db`p.pinned_at` })}
        and msg.seq > ${afterSeq}
      order by msg.seq`,
    data: db`jsonb_build_object(
      'channelId', p.channel_id, 'messageId', p.message_id,
      'pinnedAt', ${isoTime(db, db`p.pinned_at`)}
    )`,
    rows: db`messages msg on msg.channel_id = found.channel_id and msg.seq = found.seq
        join pins p on p.message_id = msg.id`,
  })),
  byId('formerMembership', (db, { appId, userId }) => ({
    id: db`fm.channel_id`,
    data: db`jsonb_build_object(
      'channelId', fm.channel_id, 'isCreator', ${isCreator(db, { appId, userId, of: 'c' })}
    )`,
    rows: db`former_members fm
        join channels c on c.id = fm.channel_id and c.deleted_at is null
        where fm.app_id = ${appId}
          and fm.user_id = ${userId}`,
  })),
  byId('invite', (db, { appId, userId }) => ({
    id: db`wi.id`,
    data: db`jsonb_build_object(
      'inviteId', wi.id, 'workspaceId', wi.workspace_id, 'role', wi.role, 'uses', wi.uses,
      'createdAt', ${isoTime(db, db`wi.created_at`)},
      'expiresAt', ${isoTime(db, db`wi.expires_at`)}
    )`,
    rows: db`workspace_invites wi
        where wi.app_id = ${appId}
          and wi.created_by = ${userId}
          and ${isTheirs(db, { appId, userId, at: db`wi.created_at` })}`,
  })),
  byId('inviteUse', (db, { appId, userId }) => ({
    id: db`wiu.invite_id`,
    data: db`jsonb_build_object(
      'inviteId', wiu.invite_id, 'workspaceId', wi.workspace_id,
      'usedAt', ${isoTime(db, db`wiu.used_at`)}
    )`,
    rows: db`workspace_invite_uses wiu
        join workspace_invites wi on wi.id = wiu.invite_id
        where wiu.app_id = ${appId}
          and wiu.user_id = ${userId}`,
  })),
]
