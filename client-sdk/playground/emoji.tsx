import type { KeyboardEvent } from 'react'
import { PopoverButton } from './popover.tsx'

const emojis = {
  '👍': 'thumbs up',
  '❤️': 'heart',
  '😂': 'tears of joy',
  '🎉': 'party',
  '👋': 'waving hand',
  '🙏': 'thank you',
  '🚀': 'rocket',
  '👀': 'eyes',
  '😀': 'grin',
  '😉': 'wink',
  '😍': 'in love',
  '🤔': 'thinking',
  '😅': 'sweat',
  '😢': 'crying',
  '😮': 'surprised',
  '😴': 'asleep',
  '✅': 'done',
  '❌': 'no',
  '🔥': 'fire',
  '✨': 'sparkles',
  '💡': 'idea',
  '⭐': 'star',
  '💯': 'hundred',
  '🍜': 'noodles',
}
const COLUMNS = 8

type Props = {
  label: string
  verb: string
  onChoose: (emoji: string) => void
  onOpenChange?: (isOpen: boolean) => void
}

/** A button that opens a table of emojis. Arrow keys move in it. */
export const EmojiButton = ({ label, verb, onChoose, onOpenChange }: Props) => (
  <PopoverButton label={label} icon="smile" {...(onOpenChange && { onOpenChange })}>
    {(close) => (
      // biome-ignore lint/a11y/useSemanticElements: a group of buttons, not a form
      <div className="emojis" role="group" aria-label="Emojis" onKeyDown={moveInTable}>
        {Object.entries(emojis).map(([emoji, name], index) => (
          <button
            key={emoji}
            type="button"
            // biome-ignore lint/a11y/noAutofocus: the user opened it to choose one
            autoFocus={index === 0}
            aria-label={`${verb} ${name}`}
            title={name}
            onClick={() => {
              close()
              onChoose(emoji)
            }}
          >
            {emoji}
          </button>
        ))}
      </div>
    )}
  </PopoverButton>
)

function moveInTable(event: KeyboardEvent<HTMLElement>) {
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: COLUMNS, ArrowUp: -COLUMNS }[event.key]
  if (!step) return
  event.preventDefault()
  const buttons = [...event.currentTarget.querySelectorAll('button')]
  // The index is -1 if none of them has the focus.
  buttons[buttons.indexOf(document.activeElement as HTMLButtonElement) + step]?.focus()
}
