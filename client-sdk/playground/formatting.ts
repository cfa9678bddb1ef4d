import type { KeyboardEvent } from 'react'
import { hasCommandKey } from './shortcuts.tsx'

/** Keys that are pressed with Ctrl, or with ⌘ on a Mac, and the marker around the selection. */
const markers: Record<string, string> = { b: '*', i: '_', e: '`', 'shift+x': '~' }

/**
 * Sets or removes the marker of a style around the selected text. Returns whether the key was for
 * that.
 */
export function formatOnKey(event: KeyboardEvent<HTMLTextAreaElement>): boolean {
  if (!hasCommandKey(event)) return false
  const marker = markers[(event.shiftKey ? 'shift+' : '') + event.key.toLowerCase()]
  if (!marker || event.altKey) return false
  event.preventDefault()
  toggle(event.currentTarget, marker)
  return true
}

function toggle(field: HTMLTextAreaElement, marker: string) {
  const { selectionStart: start, selectionEnd: end, value } = field
  const isSet = value[start - 1] === marker && value[end] === marker
  const selected = value.slice(start, end)
  if (isSet) field.setRangeText(selected, start - 1, end + 1)
  else field.setRangeText(marker + selected + marker, start, end)
  const shift = isSet ? -1 : 1
  field.setSelectionRange(start + shift, end + shift)
  reportChange(field)
}

/** Reports that the text was changed by code, as typing does. */
export const reportChange = (field: HTMLTextAreaElement) =>
  field.dispatchEvent(new Event('input', { bubbles: true }))
