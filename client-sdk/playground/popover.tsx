import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react'
import { Icon, type IconName } from './icons.tsx'

type Props = {
  label: string
  icon: IconName
  onOpenChange?: (isOpen: boolean) => void
  /** Its content, while it is open. */
  children: (close: () => void) => ReactNode
}
/** The size that its position allows for, in pixels: its width, and its greatest height. */
const [WIDTH, MAX_HEIGHT] = [312, 286]
/** Its distance to the button, and to the edges of its pane. */
const [GAP, MARGIN] = [6, 8]

/** Makes Escape close only the innermost popover or dialog. */
export const stopEscape = (event: KeyboardEvent) => {
  if (event.key === 'Escape') event.stopPropagation()
}

/** A button with a browser popover beside it: Escape and a click elsewhere close it. */
export function PopoverButton({ label, icon, onOpenChange, children }: Props) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const popover = useRef<HTMLDivElement>(null)
  const [isOpen, setOpen] = useState(false)
  const setPosition = () => {
    if (!button.current || !popover.current) return
    const { left, top, bottom } = button.current.getBoundingClientRect()
    const isBelow = top < MAX_HEIGHT + GAP
    const pane = button.current.closest('.pane')?.getBoundingClientRect()
    const { left: start, right: end } = pane ?? { left: 0, right: innerWidth }
    const rightmost = end - WIDTH - MARGIN
    popover.current.style.left = `${Math.max(start + MARGIN, Math.min(left, rightmost))}px`
    popover.current.style.top = isBelow ? `${bottom + GAP}px` : 'auto'
    popover.current.style.bottom = isBelow ? 'auto' : `${innerHeight - top + GAP}px`
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        className="icon-button"
        aria-label={label}
        title={label}
        popoverTarget={id}
        aria-expanded={isOpen}
      >
        <Icon name={icon} size={17} />
      </button>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: handles keys of its content */}
      <div
        ref={popover}
        id={id}
        popover="auto"
        className="popover"
        onBeforeToggle={setPosition}
        onKeyDown={stopEscape}
        onToggle={({ newState }) => {
          setOpen(newState === 'open')
          onOpenChange?.(newState === 'open')
        }}
      >
        {isOpen && children(() => popover.current?.hidePopover())}
      </div>
    </>
  )
}
