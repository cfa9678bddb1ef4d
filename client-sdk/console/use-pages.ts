import { useEffect, useRef, useState } from 'react'
import { describeError } from '../playground/toasts.tsx'
import { useSession } from './session.tsx'
import type { Problem } from './use-data.ts'

type Page<Row> = { rows: Row[]; nextCursor: string | null | undefined }
type State<Row> = {
  key: string
  rows: Row[]
  nextCursor: string | undefined
  isLoading: boolean
  problem?: Problem
}
export type Pages<Row> = Omit<State<Row>, 'key' | 'nextCursor'> & {
  hasMore: boolean
  loadMore: () => void
  reload: () => void
}

/** A list that is loaded page by page. Another key starts a new list. */
export function usePages<Row>(
  load: (cursor: string | undefined) => Promise<Page<Row>>,
  key: string,
): Pages<Row> {
  const { noteFailure } = useSession()
  const empty: State<Row> = { key, rows: [], nextCursor: undefined, isLoading: true }
  const [state, setState] = useState(empty)
  const [round, setRound] = useState(0)
  const newestLoad = useRef(load)
  newestLoad.current = load
  const isCurrent = useRef('')

  const loadFrom = (cursor: string | undefined, before: Row[]) => {
    const asked = `${key} ${round}`
    setState((state) => ({ ...state, key, rows: before, isLoading: true }))
    newestLoad.current(cursor).then(
      ({ rows, nextCursor }) => {
        if (isCurrent.current !== asked) return
        setState({
          key,
          rows: [...before, ...rows],
          nextCursor: nextCursor ?? undefined,
          isLoading: false,
        })
      },
      (error) => {
        if (isCurrent.current !== asked) return
        noteFailure(error)
        setState((state) => ({ ...state, isLoading: false, problem: describeError(error) }))
      },
    )
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new key or round starts a new list
  useEffect(() => {
    isCurrent.current = `${key} ${round}`
    loadFrom(undefined, [])
    return () => {
      isCurrent.current = ''
    }
  }, [key, round])

  const current = state.key === key ? state : empty
  return {
    rows: current.rows,
    isLoading: current.isLoading,
    ...(current.problem && { problem: current.problem }),
    hasMore: current.nextCursor !== undefined,
    loadMore: () => loadFrom(current.nextCursor, current.rows),
    reload: () => setRound((round) => round + 1),
  }
}
