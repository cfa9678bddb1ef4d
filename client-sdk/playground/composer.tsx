import { useTyping } from '@parley/client/react'
import { type FormEvent, type KeyboardEvent, useId, useLayoutEffect, useRef, useState } from 'react'
import { EmojiButton } from './emoji.tsx'
import { Icon } from './icons.tsx'
import { MentionList, useMentions } from './mentions.tsx'
import { useSession } from './session.ts'

type Props = {
  /** Where it is: what was typed and not sent is kept by it. */
  place: string
  channelId: string
  label: string
  hasFocus?: boolean
  onSend: (text: string) => void
}

/** Where messages are written: Enter sends, Shift+Enter begins a line, @ offers members. */
export function Composer({ place, channelId, label, hasFocus = false, onSend }: Props) {
  const { drafts } = useSession()
  const { keystroke } = useTyping(channelId)
  const [text, setText] = useState(() => drafts.get(place) ?? '')
  const field = useRef<HTMLTextAreaElement>(null)
  const listId = useId()
  const change = (next: string) => {
    setText(next)
    drafts.set(place, next)
  }
  const mentions = useMentions(field, { text, onChange: change })
  useFittingHeight(field, text)

  const send = () => {
    if (text.trim() === '') return
    onSend(text.trim())
    change('')
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || mentions.onKeyDown(event)) return
    if (event.key !== 'Enter' || event.shiftKey) return
    event.preventDefault()
    send()
  }
  const insert = (emoji: string) => {
    const at = field.current?.selectionStart ?? text.length
    change(text.slice(0, at) + emoji + text.slice(at))
    field.current?.focus()
  }
  return (
    <form
      className="composer"
      onSubmit={(event: FormEvent) => {
        event.preventDefault()
        send()
        field.current?.focus()
      }}
    >
      {mentions.found.length > 0 && <MentionList id={listId} mentions={mentions} />}
      <textarea
        ref={field}
        rows={1}
        // biome-ignore lint/a11y/noAutofocus: only where it was opened to type in it
        autoFocus={hasFocus}
        aria-label={label}
        aria-autocomplete="list"
        aria-controls={mentions.found.length > 0 ? listId : undefined}
        aria-activedescendant={mentions.chosen && `${listId}-${mentions.chosen.userId}`}
        placeholder={label}
        value={text}
        onChange={(event) => {
          change(event.target.value)
          keystroke()
        }}
        onKeyDown={onKeyDown}
        onSelect={mentions.look}
        onBlur={mentions.close}
      />
      <EmojiButton label="Insert emoji" verb="Insert" onChoose={insert} />
      <button
        type="submit"
        className="button button-send"
        aria-label="Send"
        title="Send"
        disabled={text.trim() === ''}
      >
        <Icon name="send" size={17} />
      </button>
    </form>
  )
}

const TALLEST_PX = 160

/** As tall as its text, up to a point. */
function useFittingHeight(field: React.RefObject<HTMLTextAreaElement | null>, text: string) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the text that makes it taller
  useLayoutEffect(() => {
    if (!field.current) return
    field.current.style.height = 'auto'
    field.current.style.height = `${Math.min(TALLEST_PX, field.current.scrollHeight)}px`
  }, [field, text])
}
