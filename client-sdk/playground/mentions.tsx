import type { Member } from '@parley/client'
import { type KeyboardEvent, type RefObject, useLayoutEffect, useRef, useState } from 'react'
import { Avatar } from './avatar.tsx'
import { useRoom } from './room.ts'

const BEGUN = /(?:^|\s)@([\p{L}\p{N}_.-]*)$/u
const MOST = 6

export type Mentions = ReturnType<typeof useMentions>

/** Offers members while a mention is being typed. */
export function useMentions(
  field: RefObject<HTMLTextAreaElement | null>,
  { text, onChange }: { text: string; onChange: (text: string) => void },
) {
  const { members, me } = useRoom()
  const [begun, setBegun] = useState<string>()
  const [place, setPlace] = useState(0)
  const caret = useRef<number>(undefined)
  useLayoutEffect(() => {
    if (caret.current === undefined) return
    field.current?.setSelectionRange(caret.current, caret.current)
    caret.current = undefined
  })
  const found =
    begun === undefined
      ? []
      : members.filter((member) => member.userId !== me && isMatch(member, begun)).slice(0, MOST)
  const chosen = found[Math.min(place, found.length - 1)]

  const look = () => {
    const { value = text, selectionEnd = text.length } = field.current ?? {}
    setBegun(BEGUN.exec(value.slice(0, selectionEnd))?.[1]?.toLowerCase())
    setPlace(0)
  }
  const close = () => setBegun(undefined)
  const choose = ({ userId }: Member) => {
    const end = field.current?.selectionEnd ?? text.length
    const start = end - (begun?.length ?? 0)
    caret.current = start + userId.length + 1
    onChange(`${text.slice(0, start)}${userId} ${text.slice(end)}`)
    close()
  }
  /** Whether the key was for the list. */
  const onKeyDown = (event: KeyboardEvent) => {
    if (!chosen) return false
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step) setPlace((found.indexOf(chosen) + step + found.length) % found.length)
    else if ((event.key === 'Enter' && !event.shiftKey) || event.key === 'Tab') choose(chosen)
    else if (event.key === 'Escape') close()
    else return false
    event.preventDefault()
    event.stopPropagation()
    return true
  }
  return { found, chosen, look, close, choose, onKeyDown }
}

const isMatch = ({ userId, user }: Member, begun: string) =>
  userId.toLowerCase().startsWith(begun) || user.name.toLowerCase().split(' ').some((word) => word.startsWith(begun)) // biome-ignore format: a line

export const MentionList = ({
  id,
  mentions: { found, chosen, choose },
}: {
  id: string
  mentions: Mentions
}) => (
  <div className="mentions" id={id} role="listbox" aria-label="Members">
    {found.map((member) => (
      // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the text
      // biome-ignore lint/a11y/useKeyWithClickEvents: keys are heard there
      <div
        key={member.userId}
        id={`${id}-${member.userId}`}
        role="option"
        aria-selected={member === chosen}
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
