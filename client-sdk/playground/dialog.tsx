import { type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import { Icon } from './icons.tsx'
import { stopEscape } from './popover.tsx'

type Props = {
  title: string
  /** Whether Escape and a click beside it close it, too: not if that would lose something. */
  isDismissible?: boolean
  onClose: () => void
  children: ReactNode
}

/**
 * The browser's modal dialog: Escape closes it, and the focus returns. The field that has a
 * `data-focus` has the focus first: React's `autoFocus` comes before the dialog is shown.
 */
export function Dialog({ title, isDismissible = true, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  const pressed = useRef<EventTarget>(null)
  const id = useId()
  // The focus returns when it is closed, but not after React has removed it: effects end too late.
  useLayoutEffect(() => {
    const element = dialog.current
    if (element && !element.open) element.showModal()
    element?.querySelector<HTMLElement>('[data-focus]')?.focus()
    return () => element?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-labelledby={id}
      // Chromium lets a page prevent only the first of two cancel events; others lack `closedby`.
      closedby={isDismissible ? undefined : 'none'}
      onCancel={(event) => {
        if (isDismissible) onClose()
        else event.preventDefault()
      }}
      onKeyDown={stopEscape}
      onPointerDown={({ target }) => {
        pressed.current = target
      }}
      onClick={({ target }) => {
        // A selection that ends on the backdrop is a click on what contains both.
        const isBackdrop = target === dialog.current && pressed.current === target
        if (isBackdrop && isDismissible) onClose()
      }}
    >
      <div className="dialog-body">
        <header>
          <h2 id={id}>{title}</h2>
          <button type="button" className="icon-button" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  )
}

/** Why the server refused what the dialog asked for. Operators see the code of the error too. */
export const Refusal = ({ refusal }: { refusal: { text: string; code?: string } | undefined }) =>
  refusal ? (
    <p className="refusal" role="alert">
      {refusal.code && <code>{refusal.code}</code>} {refusal.text}
    </p>
  ) : null
