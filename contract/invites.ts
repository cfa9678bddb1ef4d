import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'
import { Workspace, WorkspaceRole } from './workspaces.ts'

const { maxUses, expiresInDays } = limits.invite
const tokenExample = 'q0v2m8x1c5n9b4z6d0w1rA'

/** Invite links to workspaces. */
export const invites = {
  create: operation({
    method: 'POST',
    path: '/api/workspaces/{workspaceId}/invite',
    auth: 'user',
    summary: 'Invite to a workspace',
    description:
      'Creates an invite link, shown only in this response. Owners and admins only, and only for ' +
      'roles up to their own.',
    input: z.object({
      workspaceId: field.workspaceId(),
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
