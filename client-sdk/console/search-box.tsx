import { useEffect, useId, useRef, useState } from 'react'
import { timeZone } from './format.ts'
import { replaceAddress } from './route.ts'

type Props = {
  label: string
  placeholder?: string
  /** For a time in place of a text, in the time zone of the browser: it shows its label. */
  type?: 'search' | 'datetime-local'
  value: string
  /** Texts to choose from. */
  offered?: readonly string[]
  /** The address for a text that is searched for. */
  addressOf: (text: string) => string
}
const PAUSE_MS = 250

/**
 * Searches while the operator types. The text is a part of the address, and follows it where a link
 * or the browser's Back has changed that.
 */
export function SearchBox({
  label,
  placeholder,
  type = 'search',
  value,
  offered = [],
  addressOf,
}: Props) {
  const listId = useId()
  const [text, setText] = useState(value)
  // Another box may have changed the address since the text was typed.
  const newestAddressOf = useRef(addressOf)
  newestAddressOf.current = addressOf
  const ownValue = useRef(value)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is typed is waited for
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => {
      ownValue.current = text.trim()
      replaceAddress(newestAddressOf.current(text))
    }, PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  useEffect(() => {
    if (value === ownValue.current) return
    ownValue.current = value
    setText(value)
  }, [value])
  const input = (
    <input
      className="input"
      type={type}
      step={1}
      aria-label={label}
      title={label}
      placeholder={placeholder}
      list={offered.length > 0 ? listId : undefined}
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  )
  if (type === 'search')
    return (
      <>
        {input}
        <datalist id={listId}>
          {offered.map((text) => (
            <option key={text} value={text} />
          ))}
        </datalist>
      </>
    )
  return (
    <div className="search-field">
      <span className="muted" aria-hidden="true">
        {label} <small>({timeZone})</small>
      </span>
      {input}
    </div>
  )
}
