import type { Member } from '@parley/client'
import {
  type InputEvent,
  type KeyboardEvent,
  type RefObject,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { Avatar } from './avatar.tsx'
import { useOpenChannel } from './open-channel.ts'

/** A mention whose name is still being typed, up to the caret. */
const UNFINISHED = /(?:^|\s)@([\p{L}\p{N}_.-]*)$/u
const MAX_MATCHES = 6

type Mentions = ReturnType<typeof useMentions>

/** Finds members for the mention that is being typed. */
export function useMentions(
  field: RefObject<HTMLTextAreaElement | null>,
  { text, onChange }: { text: string; onChange: (text: string) => void },
) {
  const { members, me } = useOpenChannel()
  const [prefix, setPrefix] = useState<string>()
  const [selectedIndex, setSelectedIndex] = useState(0)
  const caret = useRef<number>(undefined)
  /** The caret behind the space that a choice has added, as long as it stays there. */
  const added = useRef<number>(undefined)
  useLayoutEffect(() => {
    if (caret.current === undefined) return
    field.current?.setSelectionRange(caret.current, caret.current)
    caret.current = undefined
  })
  const matches =
    prefix === undefined
      ? []
      : members
          .filter((member) => member.userId !== me && isMatch(member, prefix))
          .slice(0, MAX_MATCHES)
  const selected = matches[Math.min(selectedIndex, matches.length - 1)]

  const update = () => {
    const { value = text, selectionEnd = text.length } = field.current ?? {}
    setPrefix(UNFINISHED.exec(value.slice(0, selectionEnd))?.[1]?.toLowerCase())
    setSelectedIndex(0)
    if (selectionEnd !== added.current) added.current = undefined
  }
  const close = () => setPrefix(undefined)
  const choose = ({ userId }: Member) => {
    const end = field.current?.selectionEnd ?? text.length
    const start = end - (prefix?.length ?? 0)
    caret.current = start + userId.length + 1
    added.current = caret.current
    onChange(`${text.slice(0, start)}${userId} ${text.slice(end)}`)
    close()
  }
  /** A space that is typed after a choice is the one that the choice has added. */
  const onBeforeInput = (event: InputEvent<HTMLTextAreaElement>) => {
    const isBehindIt = event.currentTarget.selectionStart === added.current
    if (event.data === ' ' && isBehindIt) event.preventDefault()
    added.current = undefined
  }
  /** Returns whether the key was for the list of matches. */
  const onKeyDown = (event: KeyboardEvent) => {
    if (!selected) return false
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const isChoice = (event.key === 'Enter' && !event.shiftKey) || event.key === 'Tab'
    if (step) {
      const index = matches.indexOf(selected) + step + matches.length
      setSelectedIndex(index % matches.length)
    } else if (isChoice) choose(selected)
    else if (event.key === 'Escape') close()
    else return false
    event.preventDefault()
    event.stopPropagation()
    return true
  }
  return { matches, selected, update, close, choose, onBeforeInput, onKeyDown }
}

const isMatch = ({ userId, user }: Member, prefix: string) => {
  const words = [userId, ...user.name.split(' ')]
  return words.some((word) => word.toLowerCase().startsWith(prefix))
}

type ListProps = { id: string; mentions: Mentions }

export const MentionList = ({ id, mentions: { matches, selected, choose } }: ListProps) => (
  <div className="mentions" id={id} role="listbox" aria-label="Members">
    {matches.map((member) => (
      // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the text field
      // biome-ignore lint/a11y/useKeyWithClickEvents: the text field handles the keys
      <div
        key={member.userId}
        id={`${id}-${member.userId}`}
        role="option"
        aria-selected={member === selected}
        onMouseDown={(event) => event.preventDefault()}
        onClick={() => choose(member)}
      >
        <Avatar id={member.userId} name={member.user.name} size="small" />
        <span>{member.user.name}</span>
        <span className="muted">@{member.userId}</span>
      </div>
    ))}
  </div>
)
