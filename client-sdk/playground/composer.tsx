import type { Attachment, ChatMessage } from '@parley/client'
import { useTyping } from '@parley/client/react'
import {
  type FormEvent,
  type KeyboardEvent,
  type RefObject,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { AttachDialog, Attached } from './attach.tsx'
import { EmojiButton } from './emoji.tsx'
import { formatOnKey, reportChange } from './formatting.ts'
import { IconButton } from './icon-button.tsx'
import { Icon } from './icons.tsx'
import { isForInputMethod } from './input-method.ts'
import { MentionList, useMentions } from './mentions.tsx'
import { ComposerQuote } from './quoted-message.tsx'
import { type MessageDraft, useSession } from './session.ts'

type Props = {
  /** The unsent draft is kept under this key. */
  draftKey: string
  channelId: string
  label: string
  hasFocus?: boolean
  /** The message that this one quotes. */
  quoted?: ChatMessage | undefined
  onUnquote?: () => void
  onSend: (draft: MessageDraft) => void
}

/** A message being written: Enter sends, Shift+Enter starts a line, @ offers members. */
export function Composer(props: Props) {
  const { draftKey, channelId, label, hasFocus = false, quoted, onUnquote, onSend } = props
  const [{ text, attachments }, setDraft] = useDraft(draftKey)
  const { keystroke } = useTyping(channelId)
  const field = useRef<HTMLTextAreaElement>(null)
  const [isAttaching, setAttaching] = useState(false)
  const listId = useId()
  const change = (next: string) => setDraft({ text: next, attachments })
  const setAttachments = (next: Attachment[]) => setDraft({ text, attachments: next })
  const mentions = useMentions(field, { text, onChange: change })
  useGrowingHeight(field, text)
  useEffect(() => {
    if (quoted) field.current?.focus()
  }, [quoted])

  const isEmpty = text.trim() === '' && attachments.length === 0
  const left = lengthLeft(text)
  const send = () => {
    if (isEmpty || left < 0) return
    onSend({ text: text.trim(), attachments })
    setDraft(NO_DRAFT)
  }
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (isForInputMethod(event) || mentions.onKeyDown(event) || formatOnKey(event)) return
    if (event.key === 'Escape' && quoted) return onUnquote?.()
    if (event.key !== 'Enter' || event.shiftKey) return
    event.preventDefault()
    send()
  }
  const insert = (emoji: string) => {
    const element = field.current
    if (!element) return
    element.focus()
    element.setRangeText(emoji, element.selectionStart, element.selectionEnd, 'end')
    reportChange(element)
  }
  return (
    <>
      <form
        className="composer"
        onSubmit={(event: FormEvent) => {
          event.preventDefault()
          send()
          field.current?.focus()
        }}
      >
        {quoted && <ComposerQuote quoted={quoted} onClose={onUnquote} />}
        <Attached
          attachments={attachments}
          onRemove={(at) => setAttachments(attachments.filter((_, index) => index !== at))}
        />
        {mentions.matches.length > 0 && <MentionList id={listId} mentions={mentions} />}
        <textarea
          ref={field}
          rows={1}
          // biome-ignore lint/a11y/noAutofocus: only where the user opened it to type
          autoFocus={hasFocus}
          aria-label={label}
          aria-autocomplete="list"
          aria-controls={mentions.matches.length > 0 ? listId : undefined}
          aria-activedescendant={mentions.selected && `${listId}-${mentions.selected.userId}`}
          placeholder={label}
          value={text}
          onChange={(event) => {
            change(event.target.value)
            keystroke()
          }}
          onBeforeInput={mentions.onBeforeInput}
          onKeyDown={onKeyDown}
          onSelect={mentions.update}
          onBlur={mentions.close}
        />
        <IconButton
          label="Attach a file"
          icon="attach"
          size={17}
          onClick={() => setAttaching(true)}
        />
        <EmojiButton label="Insert emoji" verb="Insert" onChoose={insert} />
        <TextLengthLeft left={left} />
        <SendButton isEmpty={isEmpty || left < 0} />
      </form>
      {isAttaching && (
        <AttachDialog
          onClose={() => setAttaching(false)}
          onAttach={(attachment) => {
            setAttachments([...attachments, attachment])
            setAttaching(false)
            field.current?.focus()
          }}
        />
      )}
    </>
  )
}

/** The longest text of a message: the server's `textLength`. */
const MAX_TEXT_LENGTH = 10_000
/** How many characters are left when that is first shown. */
const SHOWN_LEFT = 500

/** How many more characters a text may have, an emoji being one: below zero, it is refused. */
export const lengthLeft = (text: string) => MAX_TEXT_LENGTH - [...text.trim()].length

export const TextLengthLeft = ({ left }: { left: number }) =>
  left < SHOWN_LEFT ? (
    <span className={left < 0 ? 'left left-over' : 'left'} role="status">
      {left < 0 ? `${-left} too many` : `${left} left`}
    </span>
  ) : null

const NO_DRAFT: MessageDraft = { text: '', attachments: [] }

/** The draft that is kept until it is sent. */
function useDraft(key: string) {
  const { drafts } = useSession()
  const [draft, setDraft] = useState(() => drafts.get(key) ?? NO_DRAFT)
  const change = (next: MessageDraft) => {
    setDraft(next)
    drafts.set(key, next)
  }
  return [draft, change] as const
}

const SendButton = ({ isEmpty }: { isEmpty: boolean }) => (
  <button
    type="submit"
    className="button button-send"
    aria-label="Send"
    title="Send"
    disabled={isEmpty}
  >
    <Icon name="send" size={17} />
  </button>
)

const MAX_HEIGHT_PX = 160

/** Makes a field as tall as its text, up to MAX_HEIGHT_PX, also once it is shown or resized. */
function useGrowingHeight(field: RefObject<HTMLTextAreaElement | null>, text: string) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height depends on the text
  useLayoutEffect(() => {
    if (field.current) fitHeight(field.current)
  }, [field, text])
  useEffect(() => {
    const element = field.current
    if (!element) return
    let fittedWidth = element.clientWidth
    const observer = new ResizeObserver(() => {
      if (element.clientWidth === fittedWidth) return
      fittedWidth = element.clientWidth
      fitHeight(element)
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [field])
}

function fitHeight(field: HTMLTextAreaElement) {
  field.style.height = 'auto'
  field.style.height = `${Math.min(MAX_HEIGHT_PX, field.scrollHeight)}px`
}
