import { type KeyboardEvent, type ReactNode, useId, useState } from 'react'
import { isForInputMethod } from './input-method.ts'

type Props<Entry> = {
  /** The name of what the field searches. */
  label: string
  placeholder: string
  query: string
  onQuery: (query: string) => void
  found: readonly Entry[]
  keyOf: (entry: Entry) => string
  onChoose: (entry: Entry) => void
  children: (entry: Entry) => ReactNode
}

/** A field, and what it finds: arrow keys choose from that while one types, Enter opens it. */
export function SearchList<Entry>(props: Props<Entry>) {
  const { label, placeholder, query, onQuery, found, keyOf, onChoose, children } = props
  const [at, setAt] = useState(0)
  const listId = useId()
  const chosen = Math.min(at, found.length - 1)
  const onKeyDown = (event: KeyboardEvent) => {
    if (isForInputMethod(event)) return
    const entry = found[chosen]
    if (event.key === 'Enter' && entry) onChoose(entry)
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    // Enter would go on to press the button that has the focus next.
    if (event.key === 'Enter') event.preventDefault()
    if (!step) return
    event.preventDefault()
    const next = Math.min(Math.max(chosen + step, 0), found.length - 1)
    setAt(next)
    document.getElementById(`${listId}-${next}`)?.scrollIntoView({ block: 'nearest' })
  }
  return (
    <>
      <input
        className="input"
        // A field of the type `search` keeps the first Escape to itself, to clear the text.
        type="text"
        inputMode="search"
        role="combobox"
        aria-label={label}
        aria-expanded={found.length > 0}
        aria-controls={listId}
        aria-activedescendant={found.length > 0 ? `${listId}-${chosen}` : undefined}
        placeholder={placeholder}
        autoComplete="off"
        data-focus
        value={query}
        onChange={(event) => {
          onQuery(event.target.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      {query.trim() !== '' && found.length === 0 && <p className="muted">Nothing was found.</p>}
      <div id={listId} className="found" role="listbox" aria-label="Found">
        {found.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above handles the keys
          <div
            key={keyOf(entry)}
            id={`${listId}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            className="found-entry"
            onPointerMove={() => setAt(index)}
            onClick={() => onChoose(entry)}
          >
            {children(entry)}
          </div>
        ))}
      </div>
    </>
  )
}
