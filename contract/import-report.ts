import { z } from 'zod'
import * as field from './fields.ts'
import { grouped, limits } from './limits.ts'

const counts = (description: string) =>
  z
    .object({
      users: z.int().meta({ description: 'Users.', examples: [2] }),
      channels: z.int().meta({ description: 'Channels.', examples: [1] }),
      members: z.int().meta({ description: 'Members.', examples: [2] }),
      messages: z.int().meta({ description: 'Messages.', examples: [40] }),
      reactions: z.int().meta({ description: 'Reactions.', examples: [3] }),
      pins: z.int().meta({ description: 'Pins.', examples: [0] }),
      reads: z.int().meta({ description: 'Read positions.', examples: [2] }),
    })
    .meta({ description })

/** The result of an import. */
export const ImportReport = z
  .object({
    lines: z.int().meta({ description: 'Lines read.', examples: [50] }),
    isFinished: z.boolean().meta({
      description:
        'Whether the channels of the import can be seen. False after an empty import, and one ' +
        'whose last line is cut off: send it again, whole.',
      examples: [true],
    }),
    imported: counts('What is new.'),
    skipped: counts('What was there already.'),
    refused: z.int().meta({ description: 'Records that were not imported.', examples: [1] }),
    refusals: z
      .array(
        z.object({
          line: z.int().meta({ description: 'Number of the line, from 1.', examples: [17] }),
          reason: z.string().meta({
            description: 'Why.',
            examples: ['userId: unknown user'],
          }),
        }),
      )
      .meta({
        description: `The first ${grouped(limits.imports.refusalsShown)} of them, by line.`,
      }),
    unfinishedChannelIds: z.array(field.channelId()).meta({
      description:
        'Channels of this and earlier imports that wait for the rest of their files, which are ' +
        `to be sent again, whole: the first ${limits.imports.unfinishedShown}.`,
    }),
  })
  .meta({ id: 'ImportReport', description: 'What an import has done.' })
export type ImportReport = z.infer<typeof ImportReport>
