import type { ChatMessage } from '@parley/client'
import { type KeyboardEvent, useState } from 'react'
import { lengthLeft, TextLengthLeft } from './composer.tsx'
import { formatOnKey } from './formatting.ts'
import { isForInputMethod } from './input-method.ts'
import { useOpenChannel } from './open-channel.ts'
import { useToasts } from './toasts.tsx'

type Props = { message: ChatMessage; onClose: () => void }

/** Edits the text of a message; one that was refused is sent again. */
export function Editor({ message: { id, text: before, status }, onClose }: Props) {
  const { actions } = useOpenChannel()
  const { attempt } = useToasts()
  const [text, setText] = useState(before)
  const left = lengthLeft(text)
  const save = () => {
    if (left < 0) return
    if (text.trim() !== '' && text !== before) void attempt(change())
    onClose()
  }
  const change = async () => {
    await actions.edit(id, { text: text.trim() })
    if (status === 'failed') actions.retry(id)
  }
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    event.stopPropagation()
    if (isForInputMethod(event) || formatOnKey(event)) return
    if (event.key === 'Escape') onClose()
    if (event.key !== 'Enter' || event.shiftKey) return
    event.preventDefault()
    save()
  }
  return (
    <div className="editor">
      <textarea
        // biome-ignore lint/a11y/noAutofocus: the user opened it to type
        autoFocus
        className="input"
        aria-label="Edit message"
        rows={Math.min(8, text.split('\n').length)}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
        onFocus={({ target }) => target.setSelectionRange(target.value.length, target.value.length)}
      />
      <p>
        <button type="button" className="button button-small" onClick={save} disabled={left < 0}>
          Save
        </button>
        <button type="button" className="button button-small button-quiet" onClick={onClose}>
          Cancel
        </button>
        <TextLengthLeft left={left} />
        <span className="muted">Enter saves, Escape cancels</span>
      </p>
    </div>
  )
}
