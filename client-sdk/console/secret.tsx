import { useState } from 'react'
import { Dialog, Refusal } from '../playground/dialog.tsx'

type Props = { title: string; text: string; secret: string; onClose: () => void }

/** Shows something that will not be shown again, until a button says that it was seen. */
export function Secret({ title, text, secret, onClose }: Props) {
  const [copying, setCopying] = useState<'done' | 'failed'>()
  const copy = () =>
    navigator.clipboard.writeText(secret).then(
      () => setCopying('done'),
      () => setCopying('failed'),
    )
  return (
    <Dialog title={title} isDismissible={false} onClose={onClose}>
      <p className="muted">{text}</p>
      <p className="secret">
        <code>{secret}</code>
        {/* Pages without TLS have no clipboard. */}
        {'clipboard' in navigator && (
          <button
            type="button"
            className="button button-quiet button-small"
            data-focus=""
            onClick={copy}
          >
            {copying === 'done' ? 'Copied' : 'Copy'}
          </button>
        )}
      </p>
      <Refusal refusal={copying === 'failed' ? NOT_COPIED : undefined} />
      <footer>
        <button type="button" className="button" onClick={onClose}>
          Done
        </button>
      </footer>
    </Dialog>
  )
}

const NOT_COPIED = { text: 'The browser did not copy it. Select it and copy it yourself.' }
