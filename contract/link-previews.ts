import { z } from 'zod'

/** A summary of the page behind a URL in a message, added by a background job. */
export const LinkPreview = z
  .object({
    url: z
      .string()
      .meta({ description: 'The URL as in the text.', examples: ['https://example.com/post'] }),
    title: z
      .string()
      .nullable()
      .meta({ description: 'Title of the page.', examples: ['A post'] }),
    description: z
      .string()
      .nullable()
      .meta({ description: 'Summary of the page.', examples: ['About posts'] }),
    image: z
      .string()
      .nullable()
      .meta({ description: 'Preview image URL.', examples: ['https://example.com/post.png'] }),
    siteName: z
      .string()
      .nullable()
      .meta({ description: 'Name of the site.', examples: ['Example'] }),
    type: z
      .enum(['website', 'video', 'article'])
      .meta({ description: 'Kind of page.', examples: ['article'] }),
    videoId: z
      .string()
      .optional()
      .meta({ description: 'Id at the video site.', examples: ['dQw4w9WgXcQ'] }),
    embedUrl: z
      .string()
      .optional()
      .meta({
        description: 'Embeddable video URL.',
        examples: ['https://www.youtube.com/embed/dQw4w9WgXcQ'],
      }),
    authorName: z
      .string()
      .optional()
      .meta({ description: 'Channel of a video.', examples: ['Example Channel'] }),
  })
  .meta({ id: 'LinkPreview', description: 'A summary of the page behind a URL in a message.' })
export type LinkPreview = z.infer<typeof LinkPreview>
