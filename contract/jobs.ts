import { z } from 'zod'
import * as field from './fields.ts'
import { limits, PAGE_END } from './limits.ts'
import { operation } from './operation.ts'

const jobId = z
  .string()
  .regex(/^[1-9]\d{0,17}$/, 'expected the id of a job')
  .meta({ description: 'Id of the job.', examples: ['4711'] })

/** Background jobs that were given up, for the operator. */
export const jobs = {
  list: operation({
    method: 'GET',
    path: '/admin/apps/{appId}/jobs',
    auth: 'admin',
    summary: 'List the jobs that were given up',
    description:
      'Lists the background jobs of an app that were given up (link previews, pushes and updates ' +
      `of the push provider), newest first. They are kept for ${limits.givenUpJobDays} days. ` +
      PAGE_END,
    input: z.object({
      appId: field.appId(),
      state: z
        .enum(['failed'])
        .default('failed')
        .meta({
          description: 'Only jobs in this state: `failed` are those that were given up.',
          examples: ['failed'],
        }),
      limit: field.pageSize({ default: 100, max: 1_000 }),
      offset: field.offset(),
      cursor: field.cursor(),
    }),
    output: z.object({
      jobs: z
        .array(
          z.object({
            id: jobId,
            task: z
              .string()
              .meta({ description: 'What the job does.', examples: ['push-message'] }),
            size: z.int().meta({
              description: 'How many things it does it for, like messages.',
              examples: [1],
            }),
            about: z
              .array(
                z.object({
                  messageId: z
                    .string()
                    .nullable()
                    .meta({
                      description: 'The message that it is about.',
                      examples: [field.examples.messageId],
                    }),
                  channelId: z
                    .string()
                    .nullable()
                    .meta({
                      description: 'The channel of the message, or that a user was added to.',
                      examples: [field.examples.channelId],
                    }),
                  userId: z
                    .string()
                    .nullable()
                    .meta({
                      description:
                        'The user who reacted, or whose profile or devices the job copies.',
                      examples: [null],
                    }),
                }),
              )
              .meta({ description: `What it is about: the first ${limits.jobThingsShown}.` }),
            attempts: z
              .int()
              .meta({ description: 'How often it has failed or was put off.', examples: [5] }),
            reason: z
              .string()
              .meta({ description: 'Why it was given up.', examples: ['too old: provider down'] }),
            stagedAt: field.time('When it was staged.'),
            failedAt: field.time('When it was given up.'),
          }),
        )
        .meta({ description: 'Newest first.' }),
      nextCursor: field.nextCursor(),
    }),
  }),
  retry: operation({
    method: 'POST',
    path: '/admin/apps/{appId}/jobs/{jobId}/retry',
    auth: 'admin',
    summary: 'Retry a job that was given up',
    description:
      'Returns a job that was given up to the queue, as if it had just been staged. What it is ' +
      'about is looked at again: a preview of a message that was deleted changes nothing.',
    input: z.object({ appId: field.appId(), jobId }),
    output: field.Success,
  }),
}
