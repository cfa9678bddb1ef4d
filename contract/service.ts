import { z } from 'zod'
import { operation } from './operation.ts'

const version = z.string().meta({ description: 'Version of the server.', examples: ['0.1.0'] })

/** Service state (DESIGN §4 health). */
export const service = {
  /** 200 while the service can do its work; 503 UNAVAILABLE when the database is out. */
  health: operation({
    method: 'GET',
    path: '/health',
    auth: 'none',
    limit: 'none',
    summary: 'Readiness',
    description:
      'Answers 200 while the service can do its work, and 503 while the database is out of reach.',
    input: z.object({}),
    output: z.object({
      status: z
        .literal('ok')
        .meta({ description: 'The service can do its work.', examples: ['ok'] }),
      version,
      checks: z
        .object({
          database: z
            .literal('ok')
            .meta({ description: 'The database answered.', examples: ['ok'] }),
        })
        .meta({ description: 'What was looked at.' }),
    }),
    errors: ['UNAVAILABLE'],
  }),
  /** 200 as long as the process runs; touches nothing. */
  live: operation({
    method: 'GET',
    path: '/health/live',
    auth: 'none',
    limit: 'none',
    summary: 'Liveness',
    description: 'Answers 200 as long as the process runs; touches nothing else.',
    input: z.object({}),
    output: z.object({
      status: z.literal('ok').meta({ description: 'The process runs.', examples: ['ok'] }),
      version,
    }),
  }),
}
