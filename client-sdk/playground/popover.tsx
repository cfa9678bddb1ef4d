import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react'
import { Icon, type IconName } from './icons.tsx'

type Props = {
  label: string
  icon: IconName
  onOpenChange?: (isOpen: boolean) => void
  /** What is in it, while it is open. */
  children: (close: () => void) => ReactNode
}
/** What it is placed for: it is this wide, and at most so high. */
const [WIDTH, HEIGHT, GAP] = [296, 168, 6]

/** Escape closes what is nearest, and nothing that it is in. */
export const keepEscape = (event: KeyboardEvent) =>
  event.key === 'Escape' && event.stopPropagation()

/** A button with something that pops up beside it, as browsers have it: Escape and a click elsewhere close it. */
export function PopoverButton({ label, icon, onOpenChange, children }: Props) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const popover = useRef<HTMLDivElement>(null)
  const [isOpen, setOpen] = useState(false)
  const place = () => {
    if (!button.current || !popover.current) return
    const { left, top, bottom } = button.current.getBoundingClientRect()
    const isBelow = top < HEIGHT + GAP
    popover.current.style.left = `${Math.max(8, Math.min(left, innerWidth - WIDTH - 8))}px`
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
      {/* biome-ignore lint/a11y/noStaticElementInteractions: keys are heard for what is inside */}
      <div
        ref={popover}
        id={id}
        popover="auto"
        className="popover"
        onBeforeToggle={place}
        onKeyDown={keepEscape}
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
