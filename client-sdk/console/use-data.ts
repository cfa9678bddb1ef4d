import { useCallback, useEffect, useRef, useState } from 'react'
import { describeError } from './describe-error.ts'
import { useSession } from './session.tsx'

export type Problem = ReturnType<typeof describeError>
/** `data` stays while it is loaded again, so that the page does not flicker. */
type Data<T> = { data: T | undefined; problem: Problem | undefined; reload: () => void }
type UseDataOptions = {
  /** Loads again when it changes; another key forgets the data of the one before. */
  key: string
  /** Loads again every so often, while the page is visible and nothing is being loaded. */
  everyMs?: number
}

/** Loads something from the server, and loads it again when it changes. */
export function useData<T>(load: () => Promise<T>, { key, everyMs }: UseDataOptions): Data<T> {
  const { noteFailure } = useSession()
  const [state, setState] = useState<{ key: string; data?: T; problem?: Problem }>({ key })
  const [round, setRound] = useState(0)
  const newestLoad = useRef(load)
  newestLoad.current = load
  const isLoading = useRef(false)
  const reload = useCallback(() => setRound((round) => round + 1), [])

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round loads again
  useEffect(() => {
    let isCurrent = true
    isLoading.current = true
    newestLoad.current().then(
      (data) => {
        if (!isCurrent) return
        isLoading.current = false
        setState({ key, data })
      },
      (error) => {
        if (!isCurrent) return
        isLoading.current = false
        noteFailure(error)
        setState((state) => ({
          ...(state.key === key ? state : { key }),
          problem: describeError(error),
        }))
      },
    )
    return () => {
      isCurrent = false
    }
  }, [key, round, noteFailure])

  useEffect(() => {
    if (everyMs === undefined) return
    const timer = setInterval(() => {
      // A slow answer would never be shown if the next call overtook it.
      if (document.visibilityState === 'visible' && !isLoading.current) reload()
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs, reload])

  const current = state.key === key ? state : { key }
  return { data: current.data, problem: current.problem, reload }
}
