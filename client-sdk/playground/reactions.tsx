import type { ChatMessage } from '@parley/client'
import { firstName, namesOf } from './format.ts'
import { useOpenChannel } from './open-channel.ts'
import { useToasts } from './toasts.tsx'

/** The reactions to a message. A click adds or removes the user's own. */
export function Reactions({ message: { id, reactions } }: { message: ChatMessage }) {
  const { actions } = useOpenChannel()
  const { attempt } = useToasts()
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
