import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'
import { UserSummary } from './users.ts'

/** What one may do in a workspace, most first. */
export const workspaceRoles = ['owner', 'admin', 'member'] as const
export const WorkspaceRole = z
  .enum(workspaceRoles)
  .meta({ description: 'Role in the workspace.', examples: ['member'] })
export type WorkspaceRole = z.infer<typeof WorkspaceRole>

const when = '2026-11-21T09:30:00.000Z'
const workspaceId = field
  .uuid()
  .meta({ description: 'Id of the workspace.', examples: ['019c9b1c-5d4e-7a1b-9c2d-3e4f50617283'] })
const name = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: 'Name of the workspace.', examples: ['Acme'] })
const type = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: 'A word of your own for its kind.', examples: ['team'] })
const image = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: 'Image URL.', examples: ['https://example.com/acme.png'] })

/** A workspace as one of its members sees it (SPEC "Workspace"). */
export const Workspace = z
  .object({
    id: workspaceId,
    name: name(z.string()),
    type: type(z.string()),
    image: image(z.string().nullable()),
    memberCount: z.int().meta({ description: 'How many members it has.', examples: [12] }),
    channelCount: z.int().meta({ description: 'How many channels belong to it.', examples: [3] }),
    role: WorkspaceRole.meta({ description: "The caller's role." }),
    isDefault: z.boolean().meta({
      description: 'Whether it is the first one the caller belonged to.',
      examples: [true],
    }),
    createdAt: field.timestamp().meta({ description: 'When it was created.', examples: [when] }),
    updatedAt: field.timestamp().meta({ description: 'When it last changed.', examples: [when] }),
  })
  .meta({ id: 'Workspace', description: 'A workspace as one of its members sees it.' })
export type Workspace = z.infer<typeof Workspace>

/** A user in a workspace. */
export const WorkspaceMember = z
  .object({
    userId: field.userId(),
    user: UserSummary,
    role: WorkspaceRole,
    joinedAt: field.timestamp().meta({ description: 'When the user joined.', examples: [when] }),
  })
  .meta({ id: 'WorkspaceMember', description: 'A user in a workspace.' })
export type WorkspaceMember = z.infer<typeof WorkspaceMember>

const Ref = z.object({ workspaceId })

/** Workspaces group channels (SPEC "Workspaces", DESIGN §4 workspaces). */
export const workspaces = {
  /** The workspaces the caller belongs to, in the order of joining. */
  list: operation({
    method: 'GET',
    path: '/api/workspaces',
    auth: 'user',
    summary: 'List workspaces',
    description: 'The workspaces you belong to, in the order you joined them.',
    input: z.object({}),
    output: z.object({
      workspaces: z.array(Workspace).meta({ description: 'In the order of joining.' }),
    }),
  }),
  /** Creates a workspace with the caller as owner. */
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
  /** The members of a workspace, in the order they joined. */
  members: operation({
    method: 'GET',
    path: '/api/workspaces/{workspaceId}/members',
    auth: 'user',
    summary: 'List members of a workspace',
    description: 'The members of a workspace of yours, in the order they joined.',
    input: Ref.extend({
      limit: field.pageSize({ default: limits.membersShown, max: limits.membersPerCall }),
      offset: field.offset(),
    }),
    output: z.object({
      members: z.array(WorkspaceMember).meta({ description: 'In the order they joined.' }),
    }),
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** Removes a member: an owner anyone, an admin plain members, everybody oneself. */
  removeMember: operation({
    method: 'DELETE',
    path: '/api/workspaces/{workspaceId}/members/{userId}',
    auth: 'user',
    summary: 'Remove a member of a workspace',
    description:
      'An owner removes anyone, an admin plain members, and everybody oneself. The last owner hands over to the oldest admin, else the oldest member. Who is gone no longer reads the team channels he was not a member of.',
    input: Ref.extend({ userId: field.userId() }),
    output: field.Success,
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
}
