import { z } from 'zod'

/** The cause of a durable event, as a field of its payload. */
export const cause = {
  via: z
    .literal('backend')
    .optional()
    .meta({
      description:
        "Present if the app's backend did it with its API key: for itself, or as the user whom " +
        'the event names.',
      examples: ['backend'],
    }),
}
