import type { WorkspaceRole } from '@parley/contract'
import {
  type AnyPgColumn,
  foreignKey,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core'
import { appId } from './apps.ts'
import { createdAt, instant } from './columns.ts'
import { referencesUser } from './users.ts'

export const workspaces = pgTable(
  'workspaces',
  {
    id: uuid().primaryKey(),
    appId: appId(),
    name: text().notNull(),
    type: text().notNull(),
    image: text(),
    createdBy: text().notNull(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  (t) => [unique().on(t.appId, t.id)],
)

type WorkspaceColumns = { appId: AnyPgColumn; workspaceId: AnyPgColumn }
export const referencesWorkspace = ({ appId, workspaceId }: WorkspaceColumns) =>
  foreignKey({
    columns: [appId, workspaceId],
    foreignColumns: [workspaces.appId, workspaces.id],
  })

export const workspaceMembers = pgTable(
  'workspace_members',
  {
    appId: uuid().notNull(),
    workspaceId: uuid().notNull(),
    userId: text().notNull(),
    role: text().$type<WorkspaceRole>().notNull(),
    joinedAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.userId] }),
    referencesWorkspace(t).onDelete('cascade'),
    referencesUser(t).onDelete('cascade'),
    // In the orders of the two lists.
    index('workspaces_of_user').on(t.appId, t.userId, t.joinedAt, t.workspaceId).concurrently(),
    index('members_of_workspace').on(t.workspaceId, t.joinedAt, t.userId).concurrently(),
  ],
)

/** Invite links; only the SHA-256 of their tokens is stored. */
export const workspaceInvites = pgTable(
  'workspace_invites',
  {
    id: uuid().primaryKey(),
    appId: uuid().notNull(),
    workspaceId: uuid().notNull(),
    tokenHash: text().notNull().unique(),
    role: text().$type<WorkspaceRole>().notNull(),
    /** Null: unlimited. */
    maxUses: integer(),
    uses: integer().notNull().default(0),
    createdBy: text().notNull(),
    createdAt: createdAt(),
    expiresAt: instant().notNull(),
  },
  (t) => [
    referencesWorkspace(t).onDelete('cascade'),
    index().on(t.expiresAt),
    index().on(t.workspaceId, t.createdBy),
    index('invites_of_user').on(t.appId, t.createdBy, t.id).concurrently(),
    // In the order of the list.
    index('invites_of_workspace').on(t.workspaceId, t.id).concurrently(),
  ],
)

/** The users who have joined by an invite: each counts once. */
export const workspaceInviteUses = pgTable(
  'workspace_invite_uses',
  {
    /** Null in rows of servers of an earlier version, until the cleanup has set it. */
    appId: uuid(),
    inviteId: uuid()
      .notNull()
      .references(() => workspaceInvites.id, { onDelete: 'cascade' }),
    userId: text().notNull(),
    usedAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.inviteId, t.userId] }),
    // For the erasure and the export of a user.
    index('invite_uses_of_app').on(t.appId, t.userId, t.inviteId).concurrently(),
  ],
)
