import { z } from 'zod'

/** Who caused a durable event, in its payload. */
export const origin = {
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
