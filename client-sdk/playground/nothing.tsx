import type { ChatError } from '@parley/client'
import { useConnection } from '@parley/client/react'
import type { ReactNode } from 'react'
import { Skeletons } from './skeletons.tsx'
import { plainWordsOf } from './toasts.tsx'

type Props = {
  /** The name of the missing things, in the plural. */
  what: string
  status: string
  error?: ChatError | undefined
  /** How many placeholders stand for it while it loads. */
  count: number
  /** The text if there really is nothing. */
  children: ReactNode
}

/** In the place of an empty list: that it loads, why it cannot, or that there is nothing. */
export function Nothing({ what, status, error, count, children }: Props) {
  const connection = useConnection()
  if (error) return <p className="empty">{plainWordsOf(error)}</p>
  if (status === 'ready' || status === 'stale') return <p className="empty">{children}</p>
  if (connection.status === 'offline')
    return <p className="empty">The {what} appear here once you are back online.</p>
  return <Skeletons label={`Loading ${what}`} count={count} />
}
