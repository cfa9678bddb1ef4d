import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Icon } from './icons.tsx'
import { isForInputMethod } from './input-method.ts'
import { useOpenChannel } from './open-channel.ts'

type Props = { title: string; onClose: () => void; children: ReactNode }

/**
 * A panel of the open channel beside it, or over it on a narrow screen. Escape closes it, and the
 * focus returns.
 */
export function Drawer({ title, onClose, children }: Props) {
  const { channel } = useOpenChannel()
  // The tools of a message are gone once it has lost the focus: then the message gets it back.
  const [openers] = useState(() => {
    const { activeElement } = document
    return [activeElement, activeElement?.closest('[data-row]')]
  })
  const drawer = useRef<HTMLElement>(null)
  // So that Escape closes it, wherever it was opened from.
  useEffect(() => {
    if (!drawer.current?.contains(document.activeElement)) drawer.current?.focus()
  }, [])
  useEffect(
    () => () => {
      const opener = openers.find((element) => element?.isConnected)
      if (opener instanceof HTMLElement && document.activeElement === document.body) opener.focus()
    },
    [openers],
  )
  return (
    <aside
      ref={drawer}
      className="drawer"
      tabIndex={-1}
      aria-label={title}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !isForInputMethod(event)) onClose()
      }}
    >
      <header className="room-header">
        <h3>
          {title} <span className="drawer-channel">{channel.name}</span>
        </h3>
        <button
          type="button"
          className="icon-button"
          aria-label={`Close ${title.toLowerCase()}`}
          onClick={onClose}
        >
          <Icon name="close" />
        </button>
      </header>
      {children}
    </aside>
  )
}
