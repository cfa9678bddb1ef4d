import type { LinkPreview } from '@parley/client'

/** The link previews of a message, without images: this page loads nothing from other sites. */
export const LinkPreviews = ({ previews = [] }: { previews: readonly LinkPreview[] | undefined }) =>
  previews.map(({ url, title, description, siteName }) => (
    <a key={url} className="preview" href={url} target="_blank" rel="noreferrer">
      <small>{siteName ?? new URL(url).host}</small>
      <strong>{title ?? url}</strong>
      {description && <span>{description}</span>}
    </a>
  ))
