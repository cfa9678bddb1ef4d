import { useEffect, useMemo, useState } from 'react'
import { Dialog } from '../playground/dialog.tsx'
import { Icon } from '../playground/icons.tsx'
import { isTyping } from '../playground/is-typing.ts'
import { SearchList } from '../playground/search-list.tsx'
import { useDocuments } from './context.ts'
import { createIndex, type Entry, find } from './search-index.ts'

/** A button, and the keys `/` and Ctrl+K, for a search in everything. */
export function Search() {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
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

function SearchDialog({ onClose }: { onClose: () => void }) {
  const documents = useDocuments()
  const index = useMemo(() => createIndex(documents), [documents])
  const [query, setQuery] = useState('')
  const open = (entry: Entry) => {
    location.hash = entry.address
    onClose()
  }
  return (
    <Dialog title="Search" onClose={onClose}>
      <SearchList
        label="Search the documentation"
        placeholder="Operations, events and guides"
        query={query}
        onQuery={setQuery}
        found={find(index, query)}
        keyOf={({ address, title }) => `${address} ${title}`}
        onChoose={open}
      >
        {({ kind, title, detail }) => (
          <>
            <span className="tag">{kind}</span>
            <strong>{title}</strong>
            <span className="muted">{detail}</span>
          </>
        )}
      </SearchList>
    </Dialog>
  )
}
