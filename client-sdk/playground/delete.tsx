import type { ChatMessage } from '@parley/client'
import { Dialog } from './dialog.tsx'
import { plainText } from './message-text.tsx'
import { useRoom } from './room.ts'
import { useTell } from './toasts.tsx'

/** Asks once more before a message is gone. */
export function DeleteDialog({
  message: { id, text },
  onClose,
}: {
  message: ChatMessage
  onClose: () => void
}) {
  const { actions } = useRoom()
  const { attempt } = useTell()
  const remove = () => {
    onClose()
    void attempt(actions.delete(id))
  }
  return (
    <Dialog title="Delete this message?" onClose={onClose}>
      <p className="delete-text">{plainText(text)}</p>
      <p className="muted">It will be gone for everybody.</p>
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
