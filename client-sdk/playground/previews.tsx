import type { LinkPreview } from '@parley/client'

/** What the links lead to. Their images are left out: this page loads nothing from elsewhere. */
export const LinkPreviews = ({ previews = [] }: { previews: readonly LinkPreview[] | undefined }) =>
  previews.map(({ url, title, description, siteName }) => (
    <a key={url} className="preview" href={url} target="_blank" rel="noreferrer">
      <small>{siteName ?? new URL(url).host}</small>
      <strong>{title ?? url}</strong>
      {description && <span>{description}</span>}
    </a>
  ))
