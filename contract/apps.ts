import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

const id = field.appId()
const name = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: 'Name of the app.', examples: ['Acme Talk'] })
const keyId = field
  .uuid()
  .meta({ description: 'Id of the API key.', examples: ['019c9b1d-22bb-7c3d-9d4e-5f6071829304'] })
const apiKey = z.string().meta({
  description: 'The API key for the `X-API-Key` header. Shown only in this response.',
  examples: ['pk_7f3kq0v2m8x1c5n9b4z6d0w1r2t3y4u5'],
})
const appCreatedAt = field.time('When the app was created.')
const ApiKey = z.object({ id: keyId, createdAt: field.time('When the key was created.') })

/** Apps (tenants) and their API keys, for the operator. */
export const apps = {
  list: operation({
    method: 'GET',
    path: '/admin/apps',
    auth: 'admin',
    summary: 'List apps',
    description:
      'Lists every app with the ids of its API keys, oldest first. The keys themselves are not ' +
      'stored.',
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
            createdAt: appCreatedAt,
          }),
        )
        .meta({ description: 'Oldest first.' }),
    }),
  }),
  create: operation({
    method: 'POST',
    path: '/admin/apps',
    auth: 'admin',
    status: 201,
    summary: 'Create an app',
    description:
      'Creates a tenant with its own users, channels and messages. The API key is shown only in ' +
      'this response: the server stores a hash of it.',
    input: z.object({ name: name(field.name()) }),
    output: z.object({ id, name: name(z.string()), apiKey, keyId, createdAt: appCreatedAt }),
  }),
  createKey: operation({
    method: 'POST',
    path: '/admin/apps/{appId}/keys',
    auth: 'admin',
    status: 201,
    summary: 'Create an API key',
    description:
      'Creates another API key for the app, shown only in this response. The existing keys stay ' +
      'valid until they are deleted.',
    input: z.object({ appId: id }),
    output: ApiKey.extend({ apiKey }),
    errors: ['NOT_FOUND'],
  }),
  deleteKey: operation({
    method: 'DELETE',
    path: '/admin/apps/{appId}/keys/{keyId}',
    auth: 'admin',
    summary: 'Delete an API key',
    description:
      'Deletes an API key. The server that handles this call rejects the key at once, the others ' +
      `within ${limits.revocationSeconds} seconds. User tokens stay valid.`,
    input: z.object({ appId: id, keyId }),
    output: field.Success,
    errors: ['NOT_FOUND'],
  }),
}
