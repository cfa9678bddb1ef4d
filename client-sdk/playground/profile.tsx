import type { UserDetails } from '@parley/client'
import { useChat } from '@parley/client/react'
import { useEffect, useState } from 'react'
import { LastActive, PresentAvatar } from './avatar.tsx'
import { Dialog, Refusal } from './dialog.tsx'
import { useSession } from './session.ts'
import { plainWordsOf } from './toasts.tsx'

type Props = {
  userId: string
  /** Opens the direct messages with the user. */
  onMessage: () => void
  onClose: () => void
}

/** A user's profile: name and id, when they were last active, and the app's own fields. */
export function Profile({ userId, onMessage, onClose }: Props) {
  const { userId: me } = useSession()
  const { user, refusal } = useUser(userId)
  const name = user?.name ?? userId
  const facts = Object.entries(user?.custom ?? {})
  return (
    <Dialog title="Profile" onClose={onClose}>
      <div className="profile">
        <PresentAvatar id={userId} name={name} size="large" />
        <div>
          <h3>
            {name} {userId === me && <span className="muted">you</span>}
          </h3>
          <p className="muted">@{userId}</p>
          {!refusal && (
            <p className="muted">
              <LastActive userId={userId} />
            </p>
          )}
        </div>
      </div>
      {facts.length > 0 && (
        <dl className="facts">
          {facts.map(([key, value]) => (
            <div key={key}>
              <dt>{key}</dt>
              <dd>{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
            </div>
          ))}
        </dl>
      )}
      <Refusal refusal={refusal} />
      {userId !== me && !refusal && (
        <footer>
          <button type="button" className="button" onClick={onMessage}>
            Message
          </button>
        </footer>
      )}
    </Dialog>
  )
}

function useUser(userId: string) {
  const { api } = useChat()
  const [user, setUser] = useState<UserDetails>()
  const [refusal, setRefusal] = useState<{ text: string }>()
  useEffect(() => {
    const unmounted = new AbortController()
    api.users.get({ userId }, { signal: unmounted.signal }).then(setUser, (error) => {
      if (!unmounted.signal.aborted) setRefusal({ text: plainWordsOf(error) })
    })
    return () => unmounted.abort()
  }, [api, userId])
  return { user, refusal }
}
