import { z } from 'zod'
import * as field from './fields.ts'
import { grouped, limits } from './limits.ts'
import { operation } from './operation.ts'
import { Workspace, WorkspaceRef, WorkspaceRole } from './workspaces.ts'

const { maxUses, expiresInDays } = limits.invite
const tokenExample = 'q0v2m8x1c5n9b4z6d0w1rA'

/** An invite as owners and admins see it, without its secret. */
export const Invite = z
  .object({
    id: field.inviteId(),
    role: WorkspaceRole.meta({ description: 'The role of users who join with it.' }),
    uses: z.int().meta({ description: 'How many users have joined with it.', examples: [2] }),
    maxUses: z
      .int()
      .nullable()
      .meta({ description: 'How many users may join with it; null: no limit.', examples: [5] }),
    createdBy: field.userId(),
    createdAt: field.time('When it was created.'),
    expiresAt: field.time('When it expires.', '2026-11-28T09:30:00.000Z'),
  })
  .meta({ id: 'Invite', description: 'An invite, without its secret.' })
export type Invite = z.infer<typeof Invite>

/** Invite links to workspaces. */
export const invites = {
  create: operation({
    method: 'POST',
    path: '/api/workspaces/{workspaceId}/invite',
    auth: 'user',
    summary: 'Invite to a workspace',
    description:
      'Creates an invite link, shown only in this response. Owners and admins only, and only for ' +
      'roles up to their own. It is void once its creator has left the workspace or has a lower ' +
      'role than this requires.',
    input: WorkspaceRef.extend({
      maxUses: z
        .int()
        .min(1)
        .max(maxUses)
        .nullish()
        .meta({
          description: 'How many users may join with it; default: no limit.',
          examples: [5],
        }),
      expiresInDays: z
        .int()
        .min(1)
        .max(expiresInDays.max)
        .default(expiresInDays.default)
        .meta({ description: 'How many days it is valid.', examples: [7] }),
      role: WorkspaceRole.default('member').meta({
        description: 'The role of users who join with it.',
      }),
    }),
    output: z.object({
      id: field.inviteId(),
      token: z.string().meta({
        description: 'The secret of the invite: anyone who has it may join.',
        examples: [tokenExample],
      }),
      inviteUrl: z.string().meta({
        description:
          'Link to hand out: a page of your application (INVITE_URL) that accepts the invite ' +
          'with its token.',
        examples: [`https://app.example.com/join?invite=${tokenExample}`],
      }),
      expiresAt: field.time('When it expires.', '2026-11-28T09:30:00.000Z'),
    }),
  }),
  list: operation({
    method: 'GET',
    path: '/api/workspaces/{workspaceId}/invites',
    auth: 'user',
    summary: 'List invites',
    description:
      'Lists the invites of a workspace that are valid, those used up included. Owners and ' +
      `admins only. One call looks at ${grouped(limits.invitesSlice)} at most, void ones ` +
      'included: a page may be short, or empty, and not be the last.',
    input: WorkspaceRef.extend({
      limit: field.pageSize(limits.page.invites),
      offset: field.offset(),
      cursor: field.cursor(),
    }),
    output: z.object({
      invites: z.array(Invite).meta({ description: 'The newest first.' }),
      nextCursor: field.nextCursor(),
    }),
  }),
  revoke: operation({
    method: 'DELETE',
    path: '/api/workspaces/{workspaceId}/invites/{inviteId}',
    auth: 'user',
    summary: 'Revoke an invite',
    description:
      'Nobody can join with the invite any more. Those who have joined stay members. Owners and ' +
      'admins only.',
    input: WorkspaceRef.extend({ inviteId: field.inviteId() }),
    output: field.Success,
  }),
  accept: operation({
    method: 'POST',
    path: '/api/invites/{token}/accept',
    auth: 'user',
    summary: 'Accept an invite',
    description:
      'Makes you a member of the workspace. Each user counts once against the limit of the ' +
      'invite; existing members keep their role.',
    input: z.object({
      token: field
        .text({ min: 1, max: limits.nameLength })
        .meta({ description: 'The token of the invite.', examples: [tokenExample] }),
    }),
    output: z.object({ workspace: Workspace }),
  }),
}
