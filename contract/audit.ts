import { z } from 'zod'
import * as field from './fields.ts'
import { limits, PAGE_END } from './limits.ts'
import { operation } from './operation.ts'

const ActorType = z.enum(['operator', 'key', 'user', 'system']).meta({
  id: 'ActorType',
  description: 'Who did something.',
  examples: ['operator'],
})

/** An entry of the audit log. */
export const AuditEntry = z
  .object({
    id: z.string().meta({ description: 'Id of the entry.', examples: ['4711'] }),
    createdAt: field.time('When it happened.'),
    appId: field
      .appId()
      .nullable()
      .meta({ description: 'The app that it was done in.', examples: [field.examples.appId] }),
    actor: z
      .object({
        type: ActorType.meta({
          description:
            'Who did it: the `operator`, an API `key`, a `user`, or a job of the server ' +
            '(`system`).',
          examples: ['key'],
        }),
        keyId: field
          .uuid()
          .nullable()
          .meta({
            description: 'The API key.',
            examples: ['019c9b1d-22bb-7c3d-9d4e-5f6071829304'],
          }),
        userId: z
          .string()
          .nullable()
          .meta({
            description: 'The user who acted, or the one the key acted as.',
            examples: [null],
          }),
      })
      .meta({ description: 'Who did it.' }),
    operation: z
      .string()
      .meta({ description: 'The operation that was carried out.', examples: ['messages.delete'] }),
    target: z.record(z.string(), z.unknown()).meta({
      description: 'What it was done to, by ids, and what was set. No content of messages.',
      examples: [
        {
          channelId: field.examples.channelId,
          messageId: field.examples.messageId,
          userId: 'ana',
        },
      ],
    }),
    requestId: z
      .string()
      .nullable()
      .meta({ description: 'The `X-Request-Id` of the call.', examples: ['req-1'] }),
  })
  .meta({ id: 'AuditEntry', description: 'An entry of the audit log.' })
export type AuditEntry = z.infer<typeof AuditEntry>

const filter = {
  operation: field
    .text({ min: 1, max: limits.auditOperationLength })
    .optional()
    .meta({ description: 'Only this operation.', examples: ['members.remove'] }),
  actor: ActorType.optional().meta({ description: 'Only by these.', examples: ['operator'] }),
  userId: field
    .userId()
    .optional()
    .meta({ description: 'Only by this user, or as them.', examples: ['ana'] }),
  keyId: field
    .uuid()
    .optional()
    .meta({
      description: 'Only by this API key.',
      examples: ['019c9b1d-22bb-7c3d-9d4e-5f6071829304'],
    }),
  targetId: field
    .text({ min: 1, max: limits.nameLength })
    .optional()
    .meta({
      description: 'Only what was done to this: the id of a user, channel, message, key and so on.',
      examples: ['ana'],
    }),
  createdBefore: field
    .timestamp()
    .optional()
    .meta({
      description: 'Only what happened before this time.',
      examples: ['2026-01-01T14:04:00.000Z'],
    }),
  limit: field.pageSize(limits.page.audit),
  cursor: field.cursor(),
}
const output = z.object({
  entries: z.array(AuditEntry).meta({
    description:
      `Newest first. ${PAGE_END} It may have fewer entries than \`limit\`, or none, and be ` +
      'followed by another.',
  }),
  nextCursor: field.nextCursor(),
})

/** The acts of operators, backends and moderators, for the operator. */
export const audit = {
  list: operation({
    method: 'GET',
    path: '/admin/audit',
    auth: 'admin',
    summary: 'List the audit log',
    description:
      'Lists what the operator, API keys and moderating users did in all apps. Nobody changes ' +
      'an entry; the server deletes it once it is older than AUDIT_RETENTION_DAYS.',
    input: z.object(filter),
    output,
  }),
  listOfApp: operation({
    method: 'GET',
    path: '/admin/apps/{appId}/audit',
    auth: 'admin',
    summary: 'List the audit log of an app',
    description: 'Lists the entries of one app like `audit.list`, also once it is deleted.',
    input: z.object({ appId: field.appId(), ...filter }),
    output,
    errors: [],
  }),
}
