import type { Attachment } from '@parley/client'
import { useState } from 'react'
import { Icon } from './icons.tsx'
import { serverUrl } from './session.ts'

/** The attachments of a message: pictures, and cards for all other files. */
export function Attachments({ attachments }: { attachments: readonly Attachment[] }) {
  if (attachments.length === 0) return null
  return (
    <ul className="attachments" aria-label="Attachments">
      {attachments.map((attachment) => (
        <li key={attachment.url}>
          <AttachmentView attachment={attachment} />
        </li>
      ))}
    </ul>
  )
}

function AttachmentView({ attachment }: { attachment: Attachment }) {
  const [isBroken, setBroken] = useState(false)
  const picture = attachment.thumbnailUrl ?? (isPicture(attachment) ? attachment.url : undefined)
  if (picture === undefined || isBroken || !isLoadable(picture))
    return <FileCard attachment={attachment} />
  const { url, width, height } = attachment
  return (
    <a className="picture" href={url} target="_blank" rel="noreferrer">
      <img
        src={picture}
        alt={nameOf(attachment)}
        width={width}
        height={height}
        loading="lazy"
        referrerPolicy="no-referrer"
        onError={() => setBroken(true)}
      />
    </a>
  )
}

const FileCard = ({ attachment }: { attachment: Attachment }) => (
  <a className="file" href={attachment.url} target="_blank" rel="noreferrer">
    <Icon name="file" size={22} />
    <strong>{nameOf(attachment)}</strong>
    <span>{describe(attachment)}</span>
  </a>
)

const isPicture = ({ type, mimeType }: Attachment) =>
  type === 'image' && mimeType !== 'image/svg+xml'

/** The page's policy lets it load pictures of this server, and of others over TLS. */
const isLoadable = (url: string) => url.startsWith('https:') || url.startsWith(`${serverUrl}/`)

/** Its name, or else the end of its address. */
export function nameOf({ name, url }: Attachment) {
  const { pathname, host } = new URL(url)
  return name ?? (pathname.split('/').findLast((part) => part !== '') || host)
}

/** Its kind, size and length in a few words. */
function describe({ type, size, durationMs, url }: Attachment) {
  const parts = [
    type,
    size === undefined ? undefined : sizeOf(size),
    durationMs === undefined ? undefined : lengthOf(durationMs),
    new URL(url).host,
  ]
  return parts.filter((part) => part !== undefined).join(' · ')
}

const units = ['B', 'kB', 'MB', 'GB']

function sizeOf(bytes: number) {
  const unit = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  const value = bytes / 1000 ** unit
  return `${value.toFixed(unit === 0 || value >= 10 ? 0 : 1)} ${units[unit]}`
}

const lengthOf = (ms: number) =>
  `${Math.floor(ms / 60_000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, '0')}`
