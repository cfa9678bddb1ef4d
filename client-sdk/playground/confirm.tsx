import { Dialog } from './dialog.tsx'

type Props = {
  title: string
  text: string
  /** The label of the button that does it. */
  action: string
  onConfirm: () => void
  onClose: () => void
}

/** Asks before something that cannot be taken back. */
export const ConfirmDialog = ({ title, text, action, onConfirm, onClose }: Props) => (
  <Dialog title={title} onClose={onClose}>
    <p className="muted">{text}</p>
    <footer>
      <button type="button" className="button button-quiet" onClick={onClose}>
        Cancel
      </button>
      <button
        type="button"
        className="button button-danger"
        onClick={() => {
          onClose()
          onConfirm()
        }}
      >
        {action}
      </button>
    </footer>
  </Dialog>
)
