import { useEffect, useState } from 'react'
import { replaceAddress } from './route.ts'

type Props = {
  label: string
  /** Without, as a field for a time, it shows its label. */
  placeholder?: string
  /** For a time in place of a text, in the time zone of the browser. */
  type?: 'search' | 'datetime-local'
  value: string
  /** The address for a text that is searched for. */
  addressOf: (text: string) => string
}
const PAUSE_MS = 250

/** Searches while the operator types. The text is a part of the address. */
export function SearchBox({ label, placeholder, type = 'search', value, addressOf }: Props) {
  const [text, setText] = useState(value)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is typed is waited for
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => replaceAddress(addressOf(text)), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  const input = (
    <input
      className="input"
      type={type}
      step={1}
      aria-label={label}
      title={label}
      placeholder={placeholder}
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  )
  if (placeholder !== undefined) return input
  return (
    <div className="search-field">
      <span className="muted" aria-hidden="true">
        {label}
      </span>
      {input}
    </div>
  )
}
