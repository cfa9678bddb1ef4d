import { isChatError } from '@parley/client'
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from 'react'
import { useToasts } from '../playground/toasts.tsx'
import { signOut } from './server.ts'
import { SignIn } from './sign-in.tsx'

type Session = {
  /** Ends the session, and shows the form to sign in. Rejects if it goes on. */
  end: () => Promise<void>
  /** Shows the form again if a call failed because the session has ended. */
  noteFailure: (error: unknown) => void
}
const Context = createContext<Session | null>(null)

/** Its children, for an operator who is signed in: the first call says whether they are. */
export function SessionGate({ children }: { children: ReactNode }) {
  const [isEnded, setEnded] = useState(false)
  const noteFailure = useCallback((error: unknown) => {
    if (isChatError(error) && error.code === 'UNAUTHORIZED') setEnded(true)
  }, [])
  const end = useCallback(() => signOut().then(() => setEnded(true)), [])
  const session = useMemo(() => ({ end, noteFailure }), [end, noteFailure])
  if (isEnded) return <SignIn onDone={() => setEnded(false)} />
  return <Context.Provider value={session}>{children}</Context.Provider>
}

/** Shows the error if an action of the operator fails, or the form if the session has ended. */
export function useAttempt() {
  const { attempt } = useToasts()
  const { noteFailure } = useSession()
  return <T,>(action: Promise<T>) => {
    action.catch(noteFailure)
    return attempt(action)
  }
}

export function useSession(): Session {
  const session = useContext(Context)
  if (!session) throw new Error('useSession needs a SessionGate above')
  return session
}
