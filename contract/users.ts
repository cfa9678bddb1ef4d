import { z } from 'zod'
import * as field from './fields.ts'

/** A user as shown beside what he wrote or did. */
export const UserSummary = z
  .object({
    id: field.userId(),
    name: z.string().meta({ description: 'Display name; the id when none is set.', examples: ['Ana'] }),
    image: z
      .string()
      .nullable()
      .meta({ description: 'Avatar URL.', examples: ['https://example.com/ana.png'] }),
  })
  .meta({ id: 'UserSummary', description: 'A user as shown beside what they wrote or did.' })
export type UserSummary = z.infer<typeof UserSummary>
