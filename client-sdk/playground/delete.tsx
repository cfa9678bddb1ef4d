import type { ChatMessage } from '@parley/client'
import { Dialog } from './dialog.tsx'
import { plainText } from './markdown.ts'
import { useOpenChannel } from './open-channel.ts'
import { useToasts } from './toasts.tsx'

type Props = { message: ChatMessage; onClose: () => void }

/** Asks for confirmation before a message is deleted. */
export function DeleteDialog({ message: { id, text }, onClose }: Props) {
  const { actions } = useOpenChannel()
  const { attempt } = useToasts()
  const remove = () => {
    onClose()
    void attempt(actions.delete(id))
  }
  return (
    <Dialog title="Delete this message?" onClose={onClose}>
      <p className="delete-text">{plainText(text)}</p>
      <p className="muted">It will be deleted for everyone.</p>
      <footer>
        <button type="button" className="button button-quiet" onClick={onClose}>
          Keep
        </button>
        <button type="button" className="button button-danger" onClick={remove}>
          Delete
        </button>
      </footer>
    </Dialog>
  )
}
