import { type KeyboardEvent, useRef, useState } from 'react'
import { emojiNames } from './emoji-names.ts'
import { isForInputMethod } from './input-method.ts'
import { PopoverButton } from './popover.tsx'

const COLUMNS = 8
const RECENT_KEY = 'parley-playground-emojis'

type Props = {
  label: string
  verb: string
  onChoose: (emoji: string) => void
  onOpenChange?: (isOpen: boolean) => void
}

/** A button that opens a table of emojis with a search. Arrow keys move in the table. */
export const EmojiButton = ({ label, verb, onChoose, onOpenChange }: Props) => (
  <PopoverButton label={label} icon="smile" {...(onOpenChange && { onOpenChange })}>
    {(close) => (
      <EmojiTable
        verb={verb}
        onChoose={(emoji) => {
          remember(emoji)
          close()
          onChoose(emoji)
        }}
      />
    )}
  </PopoverButton>
)

function EmojiTable({ verb, onChoose }: Pick<Props, 'verb' | 'onChoose'>) {
  /** Undefined until the user searches: from then on the focus stays in the field. */
  const [query, setQuery] = useState<string>()
  const field = useRef<HTMLInputElement>(null)
  const [all] = useState(recentFirst)
  const wanted = query?.trim().toLowerCase() ?? ''
  const found = all.filter(([, names]) => names.includes(wanted))
  /** Typing while an emoji has the focus searches. */
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const isText = event.key.length === 1 && event.key !== ' ' && !event.ctrlKey && !event.metaKey
    if (isText) field.current?.focus()
    else moveInTable(event)
  }
  const [first] = found
  return (
    <>
      <input
        ref={field}
        className="input emoji-search"
        type="search"
        aria-label="Search emojis"
        placeholder="Search"
        value={query ?? ''}
        onChange={(event) => setQuery(event.target.value)}
        onKeyDown={(event) => {
          if (isForInputMethod(event)) return
          if (event.key === 'ArrowDown') focusFirst(event)
          if (event.key !== 'Enter') return
          event.preventDefault() // it may be in a form
          if (first) onChoose(first[0])
        }}
      />
      {/* biome-ignore lint/a11y/useSemanticElements: a group of buttons, not a form */}
      <div className="emojis" role="group" aria-label="Emojis" onKeyDown={onKeyDown}>
        {found.map(([emoji, names], index) => (
          <button
            key={emoji}
            type="button"
            // biome-ignore lint/a11y/noAutofocus: the user opened it to choose one
            autoFocus={index === 0 && query === undefined}
            aria-label={`${verb} ${nameOf(names)}`}
            title={nameOf(names)}
            onClick={() => onChoose(emoji)}
          >
            {emoji}
          </button>
        ))}
      </div>
      {found.length === 0 && <p className="emojis-none">No emoji is called that.</p>}
    </>
  )
}

const nameOf = (names: string) => names.split(',')[0] ?? names

/** All emojis; those that were chosen last come first, in one row. */
function recentFirst() {
  const recent = readRecent()
  const all = Object.entries(emojiNames)
  const chosen = recent.flatMap((emoji) => all.filter(([known]) => known === emoji))
  return [...chosen, ...all.filter((entry) => !chosen.includes(entry))]
}

const readRecent = () => (localStorage.getItem(RECENT_KEY) ?? '').split(' ').filter(Boolean)

function remember(emoji: string) {
  const others = readRecent().filter((other) => other !== emoji)
  localStorage.setItem(RECENT_KEY, [emoji, ...others].slice(0, COLUMNS).join(' '))
}

function focusFirst(event: KeyboardEvent<HTMLElement>) {
  event.preventDefault()
  event.currentTarget.parentElement?.querySelector<HTMLElement>('.emojis button')?.focus()
}

function moveInTable(event: KeyboardEvent<HTMLElement>) {
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: COLUMNS, ArrowUp: -COLUMNS }[event.key]
  if (!step) return
  event.preventDefault()
  const buttons = [...event.currentTarget.querySelectorAll('button')]
  // The index is -1 if none of them has the focus.
  buttons[buttons.indexOf(document.activeElement as HTMLButtonElement) + step]?.focus()
}
