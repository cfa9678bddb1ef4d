import { type KeyboardEvent, useEffect, useId, useMemo, useState } from 'react'
import { Dialog } from '../playground/dialog.tsx'
import { Icon } from '../playground/icons.tsx'
import { useDocuments } from './context.ts'
import { createIndex, type Entry, find } from './search-index.ts'

/** A button, and the keys `/` and Ctrl+K, for a search in everything. */
export function Search() {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const onKeyDown = (event: globalThis.KeyboardEvent) => {
      const isCommand = (event.ctrlKey || event.metaKey) && event.key === 'k'
      if (!isCommand && (event.key !== '/' || isTyping(event.target))) return
      event.preventDefault()
      setOpen(true)
    }
    window.addEventListener('keydown', onKeyDown)
    return () => window.removeEventListener('keydown', onKeyDown)
  }, [])
  return (
    <>
      <button
        type="button"
        className="search-button"
        aria-haspopup="dialog"
        onClick={() => setOpen(true)}
      >
        <Icon name="search" size={15} /> <span>Search</span> <kbd>/</kbd>
      </button>
      {isOpen && <SearchDialog onClose={() => setOpen(false)} />}
    </>
  )
}

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.matches('input, textarea')

/** The entries found, which arrow keys choose from while one types. */
function SearchDialog({ onClose }: { onClose: () => void }) {
  const documents = useDocuments()
  const index = useMemo(() => createIndex(documents), [documents])
  const [query, setQuery] = useState('')
  const [chosen, setChosen] = useState(0)
  const listId = useId()
  const found = find(index, query)
  const open = (entry: Entry | undefined) => {
    if (!entry) return
    location.hash = entry.address
    onClose()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') return open(found[chosen])
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (!step) return
    event.preventDefault()
    const next = Math.min(Math.max(chosen + step, 0), found.length - 1)
    setChosen(next)
    document.getElementById(`${listId}-${next}`)?.scrollIntoView({ block: 'nearest' })
  }
  return (
    <Dialog title="Search" onClose={onClose}>
      <input
        className="input"
        type="search"
        role="combobox"
        aria-label="Search the documentation"
        aria-expanded={found.length > 0}
        aria-controls={listId}
        aria-activedescendant={found.length > 0 ? `${listId}-${chosen}` : undefined}
        placeholder="Operations, events and guides"
        autoComplete="off"
        autoFocus
        value={query}
        onChange={(event) => {
          setQuery(event.target.value)
          setChosen(0)
        }}
        onKeyDown={onKeyDown}
      />
      {query.trim() !== '' && found.length === 0 && <p className="muted">Nothing was found.</p>}
      <div id={listId} className="found" role="listbox" aria-label="Found">
        {found.map((entry, place) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above handles the keys
          <div
            key={`${entry.address} ${entry.title}`}
            id={`${listId}-${place}`}
            role="option"
            tabIndex={-1}
            aria-selected={place === chosen}
            className="found-entry"
            onPointerMove={() => setChosen(place)}
            onClick={() => open(entry)}
          >
            <span className="tag">{entry.kind}</span>
            <strong>{entry.title}</strong>
            <span className="muted">{entry.detail}</span>
          </div>
        ))}
      </div>
    </Dialog>
  )
}
