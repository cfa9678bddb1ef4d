import { z } from 'zod'
import * as field from './fields.ts'
import { operation } from './operation.ts'

const when = '2026-11-21T09:30:00.000Z'
const id = field.appId()
const name = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: 'Name of the app.', examples: ['Acme Talk'] })
const keyId = field
  .uuid()
  .meta({ description: 'Id of the API key.', examples: ['019c9b1d-22bb-7c3d-9d4e-5f6071829304'] })
const apiKey = z.string().meta({
  description: 'The server API key, for `X-API-Key`; shown this once.',
  examples: ['pk_7f3kq0v2m8x1c5n9b4z6d0w1r2t3y4u5'],
})
const ApiKey = z.object({
  id: keyId,
  createdAt: field.timestamp().meta({ description: 'When the key was made.', examples: [when] }),
})

/** Apps (tenants) and their server API keys; for the operator (DESIGN §4 POST /admin/apps). */
export const apps = {
  /** Every app with the ids of its keys, oldest first. */
  list: operation({
    method: 'GET',
    path: '/admin/apps',
    auth: 'admin',
    summary: 'List apps',
    description:
      'Every app with the ids of its API keys, oldest first. The keys themselves are not stored.',
    input: z.object({
      limit: field.pageSize({ default: 1_000, max: 1_000 }),
      offset: field.offset(),
    }),
    output: z.object({
      apps: z
        .array(
          z.object({
            id,
            name: name(z.string()),
            keys: z.array(ApiKey).meta({ description: 'Oldest first.' }),
            createdAt: field
              .timestamp()
              .meta({ description: 'When the app was created.', examples: [when] }),
          }),
        )
        .meta({ description: 'Oldest first.' }),
    }),
  }),
  /** Creates an app. The key is shown this once: only its hash is stored. */
  create: operation({
    method: 'POST',
    path: '/admin/apps',
    auth: 'admin',
    status: 201,
    summary: 'Create an app',
    description:
      'Creates a tenant with its own users, channels and messages. The API key is shown this once; only its hash is kept.',
    input: z.object({ name: name(field.name()) }),
    output: z.object({
      id,
      name: name(z.string()),
      apiKey,
      keyId,
      createdAt: field
        .timestamp()
        .meta({ description: 'When the app was created.', examples: [when] }),
    }),
  }),
  /** Makes a further API key; the others stay valid until they are deleted. */
  createKey: operation({
    method: 'POST',
    path: '/admin/apps/{appId}/keys',
    auth: 'admin',
    status: 201,
    summary: 'Make an API key',
    description:
      'Makes a further API key of the app, shown this once. The others stay valid until they are deleted.',
    input: z.object({ appId: id }),
    output: ApiKey.extend({ apiKey }),
    errors: ['NOT_FOUND'],
  }),
  /** Deletes an API key: refused at once on the node that is asked, within 5 s on the others. */
  deleteKey: operation({
    method: 'DELETE',
    path: '/admin/apps/{appId}/keys/{keyId}',
    auth: 'admin',
    summary: 'Delete an API key',
    description:
      'Deletes an API key. It is refused at once on the node that is asked, within 5 s on all others. User tokens stay valid.',
    input: z.object({ appId: id, keyId }),
    output: field.Success,
    errors: ['NOT_FOUND'],
  }),
}
