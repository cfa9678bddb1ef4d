import type { User } from '@parley/client'
import { useChat } from '@parley/client/react'
import { useEffect, useState } from 'react'
import { Avatar } from './avatar.tsx'
import { useSession } from './session.ts'
import { plainWordsOf } from './toasts.tsx'

/** The other users of the app, or why they are not known. */
export function usePeople() {
  const chat = useChat()
  const { userId } = useSession()
  const [people, setPeople] = useState<User[]>()
  const [problem, setProblem] = useState<string>()
  useEffect(() => {
    const unmounted = new AbortController()
    chat.api.users.list({ limit: 100 }, { signal: unmounted.signal }).then(
      ({ users }) => setPeople(users.filter(({ id }) => id !== userId)),
      (error) => {
        if (!unmounted.signal.aborted) setProblem(plainWordsOf(error))
      },
    )
    return () => unmounted.abort()
  }, [chat, userId])
  return { people, problem }
}

type Props = {
  kind: 'checkbox' | 'radio'
  chosen: readonly string[]
  onChoose: (ids: string[]) => void
}

/** Chooses several users, or one. */
export function PeoplePicker({ kind, chosen, onChoose }: Props) {
  const { people, problem } = usePeople()
  const toggle = (id: string) => {
    if (kind === 'radio') return onChoose([id])
    const others = chosen.filter((other) => other !== id)
    onChoose(chosen.includes(id) ? others : [...chosen, id])
  }
  return (
    <fieldset className="field">
      <legend>{kind === 'radio' ? 'With' : 'People'}</legend>
      {problem && <p className="empty">{problem}</p>}
      {people?.length === 0 && <p className="empty">There are no other users yet.</p>}
      <div className="people">
        {people?.map(({ id, name }) => (
          <label key={id} className="person">
            <input
              type={kind}
              name="people"
              checked={chosen.includes(id)}
              onChange={() => toggle(id)}
            />
            <Avatar id={id} name={name} size="small" />
            <span>{name}</span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}
