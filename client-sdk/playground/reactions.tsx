import type { ChatMessage } from '@parley/client'
import { firstName, namesOf } from './format.ts'
import { useRoom } from './room.ts'
import { useTell } from './toasts.tsx'

/** Who reacted with what; a click adds one's own, or takes it back. */
export function Reactions({ message: { id, reactions } }: { message: ChatMessage }) {
  const { actions } = useRoom()
  const { attempt } = useTell()
  if (reactions.length === 0) return null
  return (
    <ul className="reactions" aria-label="Reactions">
      {reactions.map(({ type, count, own, users }) => (
        <li key={type}>
          <button
            type="button"
            aria-pressed={own}
            aria-label={`${type}, ${count}`}
            title={namesOf(users.map(({ name }) => firstName(name)))}
            onClick={() => void attempt(own ? actions.unreact(id, type) : actions.react(id, type))}
          >
            {type} <span>{count}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}
