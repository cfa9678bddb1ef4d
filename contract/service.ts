import { z } from 'zod'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

const version = z
  .string()
  .meta({ description: 'Version of the server.', examples: [limits.apiVersion] })

/** State of the service, for monitoring and load balancers. */
export const service = {
  health: operation({
    method: 'GET',
    path: '/health',
    auth: 'none',
    limit: 'none',
    summary: 'Readiness',
    description:
      'Returns 200 while the service can work, and 503 while the database is down, sockets are ' +
      'refused, or the server is about to stop: the message of the error says which.',
    input: z.object({}),
    output: z.object({
      status: z.literal('ok').meta({ description: 'The service can work.', examples: ['ok'] }),
      version,
      checks: z
        .object({
          database: z
            .literal('ok')
            .meta({ description: 'The database responded.', examples: ['ok'] }),
          disk: z
            .literal('full')
            .optional()
            .meta({
              description:
                'Only while the disk of the database is full: reads are served, and writes are ' +
                'refused. It is shown until none was refused for a minute.',
              examples: ['full'],
            }),
          workers: z
            .enum(['ok', 'missing'])
            .optional()
            .meta({
              description:
                'Only with JOBS=external. `missing`: no worker has run for a minute, so there ' +
                'are no previews, pushes or webhooks, and no cleanup.',
              examples: ['ok'],
            }),
          redis: z
            .enum(['ok', 'unreachable'])
            .optional()
            .meta({
              description:
                'Only with REDIS_URL. `unreachable`: events of other servers arrive some seconds ' +
                'later, and typing and the like are not passed on.',
              examples: ['ok'],
            }),
        })
        .meta({ description: 'What was checked.' }),
    }),
    errors: ['UNAVAILABLE'],
  }),
  live: operation({
    method: 'GET',
    path: '/health/live',
    auth: 'none',
    limit: 'none',
    summary: 'Liveness',
    description: 'Returns 200 while the process runs. Checks nothing else.',
    input: z.object({}),
    output: z.object({
      status: z.literal('ok').meta({ description: 'The process runs.', examples: ['ok'] }),
      version,
    }),
  }),
}
