import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'
import { Workspace, WorkspaceRole } from './workspaces.ts'

const { maxUses, expiresInDays } = limits.invite
const token = z.string().meta({
  description: 'The invitation; whoever has it may join.',
  examples: ['q0v2m8x1c5n9b4z6d0w1rA'],
})

/** Invite links of workspaces (SPEC "Workspace": invite input and result; DESIGN §4 workspaces). */
export const invites = {
  /** Makes an invite link. The token is shown this once: only its hash is stored. */
  create: operation({
    method: 'POST',
    path: '/api/workspaces/{workspaceId}/invite',
    auth: 'user',
    summary: 'Invite to a workspace',
    description:
      'Makes an invite link, shown this once. For owners and admins; the role given is at most their own.',
    input: z.object({
      workspaceId: field.uuid().meta({
        description: 'Id of the workspace.',
        examples: ['019c9b1c-5d4e-7a1b-9c2d-3e4f50617283'],
      }),
      maxUses: z
        .int()
        .min(1)
        .max(maxUses)
        .nullish()
        .meta({
          description: 'How many users may join with it; unlimited when left out.',
          examples: [5],
        }),
      expiresInDays: z
        .int()
        .min(1)
        .max(expiresInDays.max)
        .default(expiresInDays.default)
        .meta({ description: 'How long it is valid.', examples: [7] }),
      role: WorkspaceRole.default('member').meta({ description: 'The role that comes with it.' }),
    }),
    output: z.object({
      token,
      inviteUrl: z.string().meta({
        description:
          'Address to hand out: a page of your application (INVITE_URL), which accepts with the token.',
        examples: ['https://app.example.com/join?invite=q0v2m8x1c5n9b4z6d0w1rA'],
      }),
      expiresAt: field.timestamp().meta({
        description: 'When it ceases to be valid.',
        examples: ['2026-11-28T09:30:00.000Z'],
      }),
    }),
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** Joins the workspace of an invite. Each user counts once against its limit; members stay as they are. */
  accept: operation({
    method: 'POST',
    path: '/api/invites/{token}/accept',
    auth: 'user',
    summary: 'Accept an invitation',
    description:
      'Makes you a member of the workspace. Each user counts once against the limit of the invite; a member stays as he is.',
    input: z.object({
      token: field
        .text({ min: 1, max: limits.nameLength })
        .meta({ description: 'The token of the invite.', examples: ['q0v2m8x1c5n9b4z6d0w1rA'] }),
    }),
    output: z.object({ workspace: Workspace }),
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
}
