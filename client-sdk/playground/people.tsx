import type { User } from '@parley/client'
import { useChat } from '@parley/client/react'
import { useEffect, useState } from 'react'
import { Avatar } from './avatar.tsx'
import { useSession } from './session.ts'

/** The other users of the app. */
export function usePeople() {
  const chat = useChat()
  const { userId } = useSession()
  const [people, setPeople] = useState<User[]>()
  useEffect(() => {
    const ended = new AbortController()
    chat.api.users.list({ limit: 100 }, { signal: ended.signal }).then(
      ({ users }) => setPeople(users.filter(({ id }) => id !== userId)),
      () => ended.signal.aborted || setPeople([]),
    )
    return () => ended.abort()
  }, [chat, userId])
  return people
}

type Props = {
  kind: 'checkbox' | 'radio'
  chosen: readonly string[]
  onChoose: (ids: string[]) => void
}

/** Who shall be in it: some, or one. */
export function PeoplePicker({ kind, chosen, onChoose }: Props) {
  const people = usePeople()
  const toggle = (id: string) =>
    onChoose(
      kind === 'radio'
        ? [id]
        : chosen.includes(id)
          ? chosen.filter((other) => other !== id)
          : [...chosen, id],
    )
  return (
    <fieldset className="field">
      <legend>{kind === 'radio' ? 'With' : 'People'}</legend>
      {people?.length === 0 && <p className="empty">There is nobody else yet.</p>}
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
