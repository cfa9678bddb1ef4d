import type { Attachment } from '@parley/client'
import { type FormEvent, useState } from 'react'
import { nameOf } from './attachments.tsx'
import { Dialog } from './dialog.tsx'
import { IconButton } from './icon-button.tsx'

const kinds = ['image', 'video', 'audio', 'file'] as const
const endings: Record<string, (typeof kinds)[number]> = {
  ...Object.fromEntries('png jpg jpeg gif webp avif'.split(' ').map((end) => [end, 'image'])),
  ...Object.fromEntries('mp4 webm mov'.split(' ').map((end) => [end, 'video'])),
  ...Object.fromEntries('mp3 ogg wav m4a'.split(' ').map((end) => [end, 'audio'])),
}

type DialogProps = { onClose: () => void; onAttach: (attachment: Attachment) => void }

/** Attaches a file by its address: the file itself is in a store of the app's own. */
export function AttachDialog({ onClose, onAttach }: DialogProps) {
  const [url, setUrl] = useState('')
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<(typeof kinds)[number]>()
  const isValid = /^https?:\/\/./.test(url) && URL.canParse(url)
  const type = chosen ?? kindOf(url)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onAttach({ type, url, ...(name.trim() === '' ? {} : { name: name.trim() }) })
  }
  return (
    <Dialog title="Attach a file" onClose={onClose}>
      <form onSubmit={submit}>
        <label className="field">
          <span className="field-name">Address</span>
          <input
            className="input"
            type="url"
            data-focus
            required
            maxLength={2_048}
            placeholder="https://example.com/cat.png"
            value={url}
            onChange={(event) => setUrl(event.target.value.trim())}
          />
        </label>
        <label className="field">
          <span className="field-name">
            Name <span className="muted">optional</span>
          </span>
          <input
            className="input"
            maxLength={255}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </label>
        <fieldset className="field">
          <legend>Shown as</legend>
          <div className="choices">
            {kinds.map((kind) => (
              <label key={kind} className="choice">
                <input
                  type="radio"
                  name="kind"
                  checked={type === kind}
                  onChange={() => setChosen(kind)}
                />
                {kind}
              </label>
            ))}
          </div>
        </fieldset>
        <p className="muted dialog-note">
          Your app uploads files to a store of its own and attaches their addresses. This page shows
          pictures from https addresses.
        </p>
        <footer>
          <button type="button" className="button button-quiet" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button" disabled={!isValid}>
            Attach
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

const kindOf = (url: string) =>
  endings[/\.(\w+)(?:[?#]|$)/.exec(url)?.[1]?.toLowerCase() ?? ''] ?? 'file'

type AttachedProps = { attachments: readonly Attachment[]; onRemove: (at: number) => void }

/** The attachments of the message that is being written. */
export function Attached({ attachments, onRemove }: AttachedProps) {
  if (attachments.length === 0) return null
  return (
    <ul className="attached" aria-label="To be attached">
      {attachments.map((attachment, at) => (
        <li key={attachment.url}>
          <span>{nameOf(attachment)}</span>
          <IconButton
            label={`Remove ${nameOf(attachment)}`}
            icon="close"
            size={13}
            onClick={() => onRemove(at)}
          />
        </li>
      ))}
    </ul>
  )
}
