import { z } from 'zod'
import { customData } from './custom.ts'
import * as field from './fields.ts'
import { limits } from './limits.ts'

const count = (description: string, example: number) =>
  z
    .int()
    .min(0)
    .optional()
    .meta({ description, examples: [example] })

/** A file or medium attached to a message. Parley stores the reference, not the bytes. */
export const Attachment = z
  .object({
    type: field.text({ min: 1, max: limits.attachmentTypeLength }).meta({
      description: '`image`, `video`, `audio`, `file`, or another word of your own.',
      examples: ['image'],
    }),
    url: field
      .url()
      .meta({ description: 'Where to fetch it.', examples: ['https://example.com/cat.png'] }),
    name: field
      .name()
      .optional()
      .meta({ description: 'File name or caption.', examples: ['cat.png'] }),
    mimeType: field
      .text({ min: 1, max: limits.mimeTypeLength })
      .optional()
      .meta({ description: 'Its media type.', examples: ['image/png'] }),
    size: count('Its size in bytes.', 52_480),
    width: count('Width in pixels.', 640),
    height: count('Height in pixels.', 480),
    durationMs: count('Length of audio or video, in milliseconds.', 12_500),
    thumbnailUrl: field
      .url()
      .optional()
      .meta({
        description: 'A small picture of it.',
        examples: ['https://example.com/cat-small.png'],
      }),
    custom: customData({ title: 'CustomAttachment' }).optional(),
  })
  .meta({ id: 'Attachment', description: 'A file or medium attached to a message.' })
