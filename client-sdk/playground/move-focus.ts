import type { KeyboardEvent } from 'react'

/** On an arrow key, moves the focus to the next or previous control or row of a list. */
export function moveFocus(event: KeyboardEvent<HTMLElement>) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (!step) return
  const targets = [
    ...event.currentTarget.querySelectorAll<HTMLElement>('button, input, [data-row]'),
  ]
  // The index is -1 if none of them has the focus.
  const next = targets[targets.indexOf(document.activeElement as HTMLElement) + step]
  if (!next) return
  event.preventDefault()
  next.focus()
}
