import type { KeyboardEvent } from 'react'
import { PopoverButton } from './popover.tsx'

const emojis = {
  '👍': 'thumbs up', '❤️': 'heart', '😂': 'tears of joy', '🎉': 'party', '👋': 'waving hand', '🙏': 'thank you', '🚀': 'rocket', '👀': 'eyes',
  '😀': 'grin', '😉': 'wink', '😍': 'in love', '🤔': 'thinking', '😅': 'sweat', '😢': 'crying', '😮': 'surprised', '😴': 'asleep',
  '✅': 'done', '❌': 'no', '🔥': 'fire', '✨': 'sparkles', '💡': 'idea', '⭐': 'star', '💯': 'hundred', '🍜': 'noodles',
} // biome-ignore format: a table
const COLUMNS = 8

type Props = {
  label: string
  verb: string
  onChoose: (emoji: string) => void
  onOpenChange?: (isOpen: boolean) => void
}

/** A button that offers emojis; arrow keys move among them. */
export const EmojiButton = ({ label, verb, onChoose, onOpenChange }: Props) => (
  <PopoverButton label={label} icon="smile" {...(onOpenChange && { onOpenChange })}>
    {(close) => (
      // biome-ignore lint/a11y/useSemanticElements: a group of buttons, and no form
      <div className="emojis" role="group" aria-label="Emojis" onKeyDown={move}>
        {Object.entries(emojis).map(([emoji, name], place) => (
          <button
            key={emoji}
            type="button"
            // biome-ignore lint/a11y/noAutofocus: it was opened to choose one
            autoFocus={place === 0}
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

function move(event: KeyboardEvent<HTMLElement>) {
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: COLUMNS, ArrowUp: -COLUMNS }[event.key]
  if (!step) return
  event.preventDefault()
  const buttons = [...event.currentTarget.querySelectorAll('button')]
  buttons[buttons.indexOf(document.activeElement as HTMLButtonElement) + step]?.focus() // -1 when it is none of them
}
