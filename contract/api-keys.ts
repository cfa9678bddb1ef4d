import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { type KeyScope, operation } from './operation.ts'

const appId = field.appId()
export const keyId = field
  .uuid()
  .meta({ description: 'Id of the API key.', examples: ['019c9b1d-22bb-7c3d-9d4e-5f6071829304'] })
const name = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: 'What the key is for.', examples: ['Billing'] })

const scopeNames: [KeyScope, ...KeyScope[]] = ['full', 'read', 'mint']
const Scope = z.enum(scopeNames).meta({
  id: 'KeyScope',
  description: 'What a key may do.',
  examples: ['full'],
})

const scopes = <S extends z.ZodType>(schema: S) =>
  schema.meta({
    description:
      'What the key may do. `full`: everything. `read`: operations that only read (GET), for the ' +
      'backend itself and not as a user; the export of a user needs `full`. `mint`: ' +
      '`POST /tokens`, without `admin`. Other calls are refused with FORBIDDEN.',
    examples: [['full']],
  })
const expiresAt = (description: string) =>
  field
    .timestamp()
    .nullable()
    .meta({ description, examples: [null] })

/** An API key of an app, as the operator sees it. */
export const ApiKey = z
  .object({
    id: keyId,
    name: name(z.string().nullable()),
    scopes: scopes(z.array(Scope)),
    createdAt: field.time('When the key was created.'),
    lastUsedAt: field
      .timestamp()
      .nullable()
      .meta({
        description: 'When it was last used, accurate to about a minute; null: not yet.',
        examples: [field.examples.time],
      }),
    expiresAt: expiresAt('From when it is refused; null: it does not expire.'),
  })
  .meta({ id: 'ApiKey', description: 'An API key of an app, without the key itself.' })

/** A new key, as it is shown once. */
export const apiKey = z.string().meta({
  description: 'The API key for the `X-API-Key` header. Shown only in this response.',
  examples: ['pk_7f3kq0v2m8x1c5n9b4z6d0w1r2t3y4u5'],
})

const given = {
  name: name(field.name().nullable()).optional(),
  scopes: scopes(z.array(Scope).min(1).max(scopeNames.length)),
  expiresAt: expiresAt('From when it is refused; null: it does not expire.').optional(),
}
const Ref = z.object({ appId, keyId })

/** The operations on the API keys of an app, for the operator. */
export const keyOperations = {
  listKeys: operation({
    method: 'GET',
    path: '/admin/apps/{appId}/keys',
    auth: 'admin',
    summary: 'List API keys',
    description:
      `Lists the API keys of an app, at most ${limits.apiKeys}; the keys themselves are not ` +
      'stored.',
    input: z.object({ appId }),
    output: z.object({ keys: z.array(ApiKey).meta({ description: 'Oldest first.' }) }),
  }),
  createKey: operation({
    method: 'POST',
    path: '/admin/apps/{appId}/keys',
    auth: 'admin',
    status: 201,
    summary: 'Create an API key',
    description:
      'Creates another API key for the app, shown only in this response. The existing keys stay ' +
      `valid until they expire or are deleted. An app has at most ${limits.apiKeys}. A time of ` +
      'expiry that is over is refused with VALIDATION_ERROR, and so are unknown names.',
    input: z.strictObject({ appId, ...given, scopes: given.scopes.default(['full']) }),
    output: ApiKey.extend({ apiKey }),
  }),
  updateKey: operation({
    method: 'PATCH',
    path: '/admin/apps/{appId}/keys/{keyId}',
    auth: 'admin',
    summary: 'Change an API key',
    description:
      'Changes the fields that are given; unknown names are an error. The server that handles ' +
      'this call applies them at once, and so do the others, or within ' +
      `${limits.revocationSeconds} seconds if they miss the notification.`,
    input: Ref.extend({ ...given, scopes: given.scopes.optional() }).strict(),
    output: ApiKey,
    idempotent: true,
  }),
  deleteKey: operation({
    method: 'DELETE',
    path: '/admin/apps/{appId}/keys/{keyId}',
    auth: 'admin',
    summary: 'Delete an API key',
    description:
      'Deletes an API key. The server that handles this call rejects the key at once, the others ' +
      `within ${limits.revocationSeconds} seconds. User tokens stay valid.`,
    input: Ref,
    output: field.Success,
  }),
}
