import { z } from 'zod'
import * as field from './fields.ts'
import { grouped, limits } from './limits.ts'
import { operation } from './operation.ts'
import { UserSummary } from './users.ts'

/** The roles in a workspace, the one with the most rights first. */
export const workspaceRoles = ['owner', 'admin', 'member'] as const
export const WorkspaceRole = z
  .enum(workspaceRoles)
  .meta({ id: 'WorkspaceRole', description: 'Role in the workspace.', examples: ['member'] })
export type WorkspaceRole = z.infer<typeof WorkspaceRole>

const name = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: 'Name of the workspace.', examples: ['Acme'] })
const type = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: 'Kind of workspace: a word of your own.', examples: ['team'] })
const image = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: 'Image URL.', examples: ['https://example.com/acme.png'] })

const { each, all } = limits.workspaceCounted
const counted =
  `at most ${grouped(each)}: more are not counted. In a list of more than ` +
  `${grouped(all / each)} workspaces each is counted up to ${grouped(all)} divided by their number.`

/** A workspace as one of its members sees it. */
export const Workspace = z
  .object({
    id: field.workspaceId(),
    name: name(z.string()),
    type: type(z.string()),
    image: image(z.string().nullable()),
    memberCount: z
      .int()
      .meta({ description: `How many members it has, ${counted}`, examples: [12] }),
    channelCount: z
      .int()
      .meta({ description: `How many channels belong to it, ${counted}`, examples: [3] }),
    role: WorkspaceRole.meta({ description: "The caller's role." }),
    isDefault: z.boolean().meta({
      description: 'Whether it is the workspace that the caller joined first.',
      examples: [true],
    }),
    createdAt: field.time('When it was created.'),
    updatedAt: field.time('When it last changed.'),
  })
  .meta({ id: 'Workspace', description: 'A workspace as one of its members sees it.' })
export type Workspace = z.infer<typeof Workspace>

/** A user in a workspace. */
export const WorkspaceMember = z
  .object({
    userId: field.userId(),
    user: UserSummary,
    role: WorkspaceRole,
    joinedAt: field.time('When the user joined.'),
  })
  .meta({ id: 'WorkspaceMember', description: 'A user in a workspace.' })
export type WorkspaceMember = z.infer<typeof WorkspaceMember>

/** One workspace of the caller's. */
export const WorkspaceRef = z.object({ workspaceId: field.workspaceId() })

/** Workspaces, which group channels, and their members. */
export const workspaces = {
  list: operation({
    method: 'GET',
    path: '/api/workspaces',
    auth: 'user',
    summary: 'List workspaces',
    description:
      'Lists the workspaces you belong to, in the order you joined them. A page may end early, ' +
      'where an answer has no more room.',
    input: z.object({
      limit: field.pageSize(limits.page.workspaces),
      cursor: field.cursor().meta({ description: '`nextCursor` of an earlier page.' }),
    }),
    output: z.object({
      workspaces: z.array(Workspace).meta({ description: 'In the order you joined them.' }),
      nextCursor: field.nextCursor(),
    }),
  }),
  create: operation({
    method: 'POST',
    path: '/api/workspaces',
    auth: 'user',
    status: 201,
    summary: 'Create a workspace',
    description: 'Creates a workspace; you become its owner.',
    input: z.object({
      name: name(field.name()),
      type: type(field.text({ min: 1, max: limits.workspaceTypeLength })),
      image: image(field.url()).optional(),
    }),
    output: Workspace,
  }),
  members: operation({
    method: 'GET',
    path: '/api/workspaces/{workspaceId}/members',
    auth: 'user',
    summary: 'List members of a workspace',
    description:
      'Lists the members of one of your workspaces in the order they joined. A page may end ' +
      'early, where an answer has no more room.',
    input: WorkspaceRef.extend({
      limit: field.pageSize({ default: limits.membersShown, max: limits.membersPerCall }),
      offset: field.offset(),
      cursor: field.cursor(),
    }),
    output: z.object({
      members: z.array(WorkspaceMember).meta({ description: 'In the order they joined.' }),
      nextCursor: field.nextCursor(),
    }),
  }),
  removeMember: operation({
    method: 'DELETE',
    path: '/api/workspaces/{workspaceId}/members/{userId}',
    auth: 'user',
    summary: 'Remove a member of a workspace',
    description:
      'Owners may remove anyone, admins plain members, and every member may remove themselves. ' +
      'If the last owner leaves, the oldest admin becomes the owner, or the oldest member if ' +
      'there is no admin. A user who is no longer a member of the workspace can no longer read ' +
      'its team channels, except those they are a member of.',
    input: WorkspaceRef.extend({ userId: field.userId() }),
    output: field.Success,
  }),
}
