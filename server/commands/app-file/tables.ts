import type { Fragment, Tx } from '../../db/client.ts'

/** The rows of a table that an app has, and how they travel. */
export type AppTable = {
  name: string
  /** The name of a row in the expressions below. */
  alias: string
  /** The SQL after `from`. */
  rows: (db: Tx, appId: string) => Fragment
  /** A row as it is exported, when that is not simply all of its columns. */
  exported?: string
  /** The text of a row that is exported without its mentions, which follow from it; or null. */
  mentioning?: string
  /** The column that names the app, unless that is `app_id`. */
  ownedBy?: string
  /** Values of columns while the app is being imported, in place of those of the row `own`. */
  hidden?: Record<string, string>
  /** A row that was stored, as it was exported, when it has such columns. */
  stored?: string
  /** Credentials of the app's backend and devices, and where they lead: left out by default. */
  isSecret?: true
  /** Numbered by the database: the rows get new numbers, in the same order. */
  numbered?: string
  /** The time by which rows that outlived the app are found: they are not stored again. */
  keptBy?: string
}

/**
 * An invite that is about to end stays behind: the cleanup might delete it between its row and
 * those that refer to it.
 */
const INVITES = "wi.expires_at > now() + interval '1 hour'"

/** In the order in which they refer to each other. Rows of deleted channels stay behind. */
const tables: AppTable[] = [
  {
    name: 'apps',
    alias: 'a',
    ownedBy: 'id',
    rows: (db, appId) => db`apps a where a.id = ${appId}`,
    // Nobody sees it before the import has ended.
    hidden: { deleted_at: "'infinity'" },
    stored: "to_jsonb(a) || jsonb_build_object('deleted_at', null)",
  },
  {
    ...ofApp('users', 'u'),
    // The erasure of a deleted user waits until all that they wrote is there.
    hidden: {
      forgotten_at:
        "case when own.deleted_at is not null then coalesce(own.forgotten_at, 'infinity') end",
    },
    stored: "to_jsonb(u) || jsonb_build_object('forgotten_at', nullif(u.forgotten_at, 'infinity'))",
  },
  ofApp('workspaces', 'w'),
  ofApp('workspace_members', 'wm'),
  {
    name: 'workspace_invites',
    alias: 'wi',
    rows: (db, appId) => db`
      workspaces w
      join workspace_invites wi on wi.workspace_id = w.id
      where w.app_id = ${appId}
        and ${db.unsafe(INVITES)}`,
  },
  {
    name: 'workspace_invite_uses',
    alias: 'wiu',
    exported: "to_jsonb(wiu) || jsonb_build_object('app_id', w.app_id)",
    rows: (db, appId) => db`
      workspaces w
      join workspace_invites wi on wi.workspace_id = w.id
      join workspace_invite_uses wiu on wiu.invite_id = wi.id
      where w.app_id = ${appId}
        and ${db.unsafe(INVITES)}`,
  },
  {
    name: 'channels',
    alias: 'c',
    rows: (db, appId) => db`channels c where c.app_id = ${appId} and c.deleted_at is null`,
  },
  ofChannels('members', 'm'),
  ofChannels('former_members', 'fm'),
  {
    ...ofChannels('messages', 'msg'),
    rows: (db, appId) => db`
      channels c
      join messages msg on msg.channel_id = c.id
      left join message_streams ms on ms.message_id = msg.id
      where c.app_id = ${appId}
        and c.deleted_at is null`,
    // A message that grows ends here, with what it has so far.
    exported: `case
      when msg.streaming then to_jsonb(msg) - 'mentions' || jsonb_build_object(
        'text', msg.text || coalesce(ms.tail, ''), 'streaming', false, 'interrupted', true
      )
      else to_jsonb(msg)
    end`,
    mentioning: "case when msg.streaming then msg.text || coalesce(ms.tail, '') end",
  },
  {
    name: 'reactions',
    alias: 'r',
    rows: (db, appId) => db`
      reactions r
      join messages msg on msg.id = r.message_id and msg.deleted_at is null
      join channels c on c.id = msg.channel_id
      where r.app_id = ${appId}
        and c.deleted_at is null`,
  },
  ofChannels('pins', 'p'),
  ofChannels('read_marks', 'rm'),
  ofChannels('tombstone_counts', 'tc'),
  ofApp('preferences', 'pref'),
  ofApp('user_streams', 'us'),
  ofApp('active_users', 'au'),
  {
    name: 'audit',
    alias: 'aud',
    rows: (db, appId) => db`audit aud where aud.app_id = ${appId} order by aud.id`,
    numbered: 'id',
    keptBy: 'created_at',
  },
  { ...ofApp('api_keys', 'ak'), isSecret: true },
  { ...ofApp('devices', 'd'), isSecret: true },
  { ...ofApp('webhooks', 'wh'), isSecret: true },
  { ...ofApp('before_send_hooks', 'bsh'), isSecret: true },
]

/** The rows that name the app. */
function ofApp(name: string, alias: string): AppTable {
  return {
    name,
    alias,
    rows: (db, appId) => db`
      ${db(name)} ${db(alias)}
      where ${db(`${alias}.app_id`)} = ${appId}`,
  }
}

/** The rows that name a channel of the app. */
function ofChannels(name: string, alias: string): AppTable {
  return {
    name,
    alias,
    rows: (db, appId) => db`
      channels c
      join ${db(name)} ${db(alias)} on ${db(`${alias}.channel_id`)} = c.id
      where c.app_id = ${appId}
        and c.deleted_at is null`,
  }
}

export const appTables: readonly AppTable[] = tables

/** The tables that are left out, and why. A test finds every table here or above. */
export const leftOut: Record<string, string> = {
  service: 'facts about the database',
  nodes: 'running processes',
  job_workers: 'running processes',
  connections: 'sockets of running processes',
  events: 'clients load everything again, because the epoch is another one',
  text_removals: 'of events, which are left out',
  staged_jobs: 'jobs go on where they were caused',
  webhook_deliveries: 'they go on where the events happened',
  reaction_counts: 'counted again as the reactions are stored',
  message_streams: 'a message that grows is exported with what it has so far',
  link_previews: 'a cache',
  imports: 'an import that runs',
  imported_rows: 'of an import that is not finished',
  app_imports: 'an import that is not finished',
}

/** All tables of ours. */
export const tableNames = [...tables.map(({ name }) => name), ...Object.keys(leftOut)]
