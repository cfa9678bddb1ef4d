import { z } from 'zod'
import * as field from './fields.ts'
import { operation } from './operation.ts'

/** Apps (tenants) and their server API keys; for the operator (DESIGN §4 POST /admin/apps). */
export const apps = {
  /** Creates an app. The key is shown this once: only its hash is stored. */
  create: operation({
    method: 'POST',
    path: '/admin/apps',
    auth: 'admin',
    status: 201,
    summary: 'Create an app',
    description: 'Creates a tenant with its own users, channels and messages. The API key is shown this once; only its hash is kept.',
    input: z.object({ name: field.name().meta({ description: 'Name of the app.', examples: ['Acme Talk'] }) }),
    output: z.object({
      id: field.appId(),
      name: z.string().meta({ description: 'Name of the app.', examples: ['Acme Talk'] }),
      apiKey: z.string().meta({ description: 'The server API key, for `X-API-Key`.', examples: ['pk_7f3kq0v2m8x1c5n9b4z6d0w1r2t3y4u5'] }),
      createdAt: field.timestamp().meta({ description: 'When the app was created.', examples: ['2026-11-21T09:30:00.000Z'] }),
    }),
  }),
}
