import { useState } from 'react'
import { Dialog } from '../playground/dialog.tsx'

type Props = { title: string; text: string; secret: string; onClose: () => void }

/** Shows something that will not be shown again. */
export function Secret({ title, text, secret, onClose }: Props) {
  const [isCopied, setCopied] = useState(false)
  const copy = () => navigator.clipboard.writeText(secret).then(() => setCopied(true))
  return (
    <Dialog title={title} onClose={onClose}>
      <p className="muted">{text}</p>
      <p className="secret">
        <code>{secret}</code>
        {/* Pages without TLS have no clipboard. */}
        {'clipboard' in navigator && (
          <button type="button" className="button button-quiet button-small" onClick={copy}>
            {isCopied ? 'Copied' : 'Copy'}
          </button>
        )}
      </p>
      <footer>
        <button type="button" className="button" onClick={onClose}>
          Done
        </button>
      </footer>
    </Dialog>
  )
}
