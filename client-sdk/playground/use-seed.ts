import { isChatError } from '@parley/client'
import { useCallback, useEffect, useState } from 'react'
import { seed } from './seed.ts'
import { plainWordsOf } from './toasts.tsx'

const KEY = 'parley-playground-seeded'
let seeding: Promise<void> | undefined

type Preparation = {
  /** Whether there is something to show: the demo is complete, or was at an earlier visit. */
  isReady: boolean
  /** Why the demo could not be prepared. */
  problem: string | undefined
}
type Seed = Preparation & { tryAgain: () => void }

/**
 * Prepares the demo. Later visits do not wait for that: they show what is stored, also without a
 * network, and it is prepared once that is back.
 */
export function useSeed(): Seed {
  const wasSeeded = localStorage.getItem(KEY) !== null
  const [preparation, setPreparation] = useState<Preparation>({
    isReady: wasSeeded,
    problem: undefined,
  })
  const prepare = useCallback(() => {
    seeding ??= seed()
    seeding.then(
      () => {
        localStorage.setItem(KEY, 'yes')
        setPreparation({ isReady: true, problem: undefined })
      },
      (error: unknown) => {
        seeding = undefined
        const problem = wasSeeded && isOutage(error) ? undefined : problemOf(error)
        setPreparation({ isReady: true, problem })
      },
    )
  }, [wasSeeded])
  useEffect(() => {
    prepare()
    window.addEventListener('online', prepare)
    return () => window.removeEventListener('online', prepare)
  }, [prepare])
  return { ...preparation, tryAgain: prepare }
}

const problemOf = (error: unknown) =>
  isOutage(error) ? 'The server cannot be reached.' : plainWordsOf(error)

/** A request that got no answer rejects with a TypeError, or as a call with its code. */
const isOutage = (error: unknown) =>
  error instanceof TypeError ||
  isChatError(error, 'NETWORK_ERROR') ||
  isChatError(error, 'UNAVAILABLE')
